"""What a competition is about, by its tracks: the words and pages that fit it."""

from __future__ import annotations

from leaderboard_site.model import Site


def of_language(site: Site) -> bool:
    """Whether some track scores a language model: by its loss over tokens or bytes of text."""
    axes = (board.track.quality for board in site.tracks.values())
    return any(a.metric == "bpb" or a.unit.endswith(("/token", "/byte")) for a in axes)


def starter(site: Site) -> str:
    """The track on which a newcomer trains the starter, a language model; "" without one."""
    return "tutorial" if "tutorial" in site.tracks else "TRACK" if of_language(site) else ""


def about(site: Site) -> str:
    """What the competition is about, in a few words."""
    if of_language(site):
        return "training language models with less"
    titles = [board.track.title for board in site.boards][:3]
    return ", ".join(titles) or "machine learning"

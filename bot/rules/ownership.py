"""Provenance: whose runs these are.

Anybody can link a public run. Who can tag a W&B run can write to it, so the tag `speedrun:LOGIN`,
or that text in its configuration, binds it to a person. Of runs that nothing binds, such as logs,
the first to show them owns them.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from bot.compute.aligned import trained_again
from bot.compute.duplicates import link_key, trace_of
from bot.compute.independence import same_points
from bot.evidence.neighbours import run_keys
from bot.model.case import Case, RunEvidence, Seen
from bot.model.run import BINDING, Run
from bot.model.trace import Trace
from bot.model.verdict import Finding
from bot.patterns import LOGIN
from bot.registry import Level
from bot.render.untrusted import plain
from bot.rules.about import about, per_message

_CONFIG = ("speedrun", "github_login")
_OPEN = "open project"
"""The mark of a run in a project that everybody may write to: its tags bind nobody."""
_ON_WANDB = ("wandb", "wandb-offline", "snapshot")


def owners_of(run: Run) -> frozenset[str]:
    """The logins, in lower case, that a run is bound to."""
    if _OPEN in run.client_marks:
        return frozenset()
    words = [tag.removeprefix(BINDING) for tag in run.tags if tag.startswith(BINDING)]
    values = (run.config.get(key) for key in _CONFIG)
    words += [value.removeprefix(BINDING) for value in values if isinstance(value, str)]
    return frozenset(word.lower() for word in words if LOGIN.fullmatch(word))


def run_of_another(case: Case) -> Iterator[Finding]:
    """The runs are those of the author of the pull request, or of somebody who takes part in it.

    A run that is bound to somebody else, or that somebody else showed in an earlier pull request,
    is theirs. To name them as a contributor is not enough: they add the run by `/runs add`, or
    confirm it by `/confirm`, in this pull request. A log or a results file that names its owner
    (`github_login`, `--github-login`, `speedrun:LOGIN`) is bound like a tagged run. A log in which
    W&B's client names the page of a run that somebody else showed needs a review.
    """
    if not case.brought_over:
        yield from per_message(_bound_elsewhere(case))
        yield from per_message(_shown_before(case))
        yield from per_message(_arm_of_another(case))
        yield from per_message(_of_a_page(case))


def run_not_bound(case: Case) -> Iterator[Finding]:
    """The run is bound to its author: it has the tag `speedrun:LOGIN`.

    A public run can be linked by anybody, and only who can write to it can tag it. Add the tag with
    your GitHub login to the run on W&B, also after it has ended, and comment `/verify`; or have the
    trainer write it (`--github-login`). A run that is bound to another contributor waits for their
    `/confirm`. Results files and logs that name nobody are exempt.
    """
    if not case.brought_over:
        yield from per_message(_loose(case))


def _candidates(case: Case) -> Iterator[tuple[RunEvidence, Run]]:
    for item in case.evidence:
        if item.spec.arm == "candidate":
            for run in item.runs:
                yield item, run


def _named(case: Case) -> frozenset[str]:
    return frozenset(c.github.lower() for c in case.submission.contributors)


def _accepted(case: Case) -> frozenset[str]:
    """Who answers for runs here: the author, and who acted; before a pull request is opened, the
    contributors, one of whom will open it."""
    request = case.context.pull_request
    return _named(case) if request is None else case.context.acted | {request.author.lower()}


def _bound_elsewhere(case: Case) -> Iterator[Finding]:
    accepted, named = _accepted(case), _named(case)
    for item, run in _candidates(case):
        owners = owners_of(run)
        others = owners - accepted - named
        # Of two tags one is enough; of two names in a file its author may have added one.
        if accepted and others and (others == owners or run.source not in _ON_WANDB):
            owner = min(others)
            yield about(
                case,
                item,
                run,
                "run-of-another",
                f"the run is bound to {owner}, who is not a contributor of this submission",
                claimed=", ".join(sorted(accepted)),
                expected=owner,
                fix=f"bring runs of your own, or ask {owner} to add this one by `/runs add`.",
            )


def _arm_of_another(case: Case) -> Iterator[Finding]:
    """Runs of a baseline arm that are bound to somebody else: the ratio is of one machine, and the
    arm is run beside the candidate."""
    accepted = _accepted(case) | _named(case)
    for item in case.evidence if case.track.objective == "baseline" and accepted else ():
        for run in item.runs if item.spec.arm == "baseline" else ():
            owners = owners_of(run)
            if owners and owners.isdisjoint(accepted):
                yield about(
                    case,
                    item,
                    run,
                    "run-of-another",
                    f"this run of the baseline arm is bound to {min(owners)}, who is not a "
                    "contributor",
                    level=Level.WARNING,
                    expected=min(owners),
                    fix="run the baseline yourself, in turn with your own code on one machine.",
                )


def _shown_before(case: Case) -> Iterator[Finding]:
    """Runs that an earlier pull request of somebody else showed first."""
    request = case.context.pull_request
    if request is None:
        return
    accepted, earlier = _accepted(case), shown_earlier(case)
    keys = run_keys(case.submission, case.results, case.folder)
    for item, run in _candidates(case):
        # Who can tag a run on W&B owns it; a file says what its author writes.
        if run.source in _ON_WANDB and owners_of(run) & accepted:
            continue
        first = next((s for s in earlier if _shows(s, run, keys)), None)
        if first is not None and first.author.lower() not in accepted:
            who = plain(first.author)
            yield about(
                case,
                item,
                run,
                "run-of-another",
                f"{who} showed this run first, in #{first.pull_request} on {first.at:%Y-%m-%d}",
                claimed=request.author,
                expected=who,
                fix="bring runs of your own.",
            )


def _of_a_page(case: Case) -> Iterator[Finding]:
    """Logs in which W&B's client names a run that an entry or an earlier pull request showed."""
    own = {link_key(spec.target) for spec in case.submission.runs if spec.is_link}
    for item, run in _candidates(case):
        pages = {str(w.value) for w in run.witnesses if w.quantity == "page"} - own
        where = _showed(case, pages) if pages and run.source == "log" else None
        if where is not None:
            page, whose = where
            yield about(
                case,
                item,
                run,
                "run-of-another",
                f"W&B's lines in the log name the run {plain(page.removeprefix('wandb:'))}, which "
                f"{whose} showed",
                level=Level.WARNING,
                fix="submit the logs of your own runs, or say in the README how the two belong "
                "together.",
            )


def _showed(case: Case, pages: Set[str]) -> tuple[str, str] | None:
    """The run, and who showed it: an entry of other people, or their earlier pull request."""
    mine = _accepted(case) | _named(case)
    for entry in case.others:
        if shared := pages & entry.run_keys:
            if mine.isdisjoint(entry.people):
                return min(shared), plain(entry.path, 200)
    for seen in shown_earlier(case):
        if (shared := pages & seen.run_keys) and seen.author.lower() not in mine:
            return min(shared), f"#{seen.pull_request}"
    return None


def shown_earlier(case: Case) -> tuple[Seen, ...]:
    """What other pull requests showed before this one showed its evidence."""
    request, since = case.context.pull_request, case.context.first_seen
    return tuple(
        seen
        for seen in case.context.seen
        if request is not None and seen.pull_request != request.number
        if since is None or seen.at < since
    )


def shown_by_others(case: Case) -> tuple[Seen, ...]:
    """What people showed who take no part in this one, and of which no run is here as it is."""
    accepted, keys = _accepted(case), run_keys(case.submission, case.results, case.folder)
    others = (s for s in shown_earlier(case) if s.author.lower() not in accepted)
    runs = [run for _, run in _candidates(case)]
    return tuple(s for s in others if not any(_shows(s, run, keys) for run in runs))


def _shows(seen: Seen, run: Run, keys: frozenset[str]) -> bool:
    """Whether an earlier pull request showed this run."""
    address = f"wandb:{run.entity}/{run.project}/{run.run_id}"
    own = {address} if run.run_id and run.entity and run.project else keys
    if any(same_points(run.validation, points) for points in seen.points):
        return True
    shared = own & seen.run_keys
    # A log's key is made of its losses alone, which a machine that repeats itself shows again.
    again = all(key.startswith("log:") for key in shared) and any(
        trained_again(trace_of(run), Trace.of(points)) for points in seen.points
    )
    return bool(shared) and not again


def _loose(case: Case) -> Iterator[Finding]:
    accepted, named = _accepted(case), _named(case)
    for item, run in _candidates(case):
        owners = owners_of(run)
        if (run.source not in _ON_WANDB and not owners) or owners & accepted:
            continue
        if owners & named:
            owner = min(owners & named)
            what = f"the run is bound to {owner}, who has not confirmed it here"
            fix = f"{owner} comments `/confirm` on the pull request."
        elif accepted and not owners:
            what = "nothing in the run names you as its owner"
            request = case.context.pull_request
            authors = [request.author] if request else list(accepted)
            login = plain(authors[0]) if len(authors) == 1 else "LOGIN"
            fix = f"add the tag `speedrun:{login}` to the run on W&B, then comment `/verify`."
            if run.source == "wandb-offline":
                fix = (
                    f"sync the run to W&B with the tag `speedrun:{login}`, or train with "
                    "`--github-login`."
                )
        else:
            continue
        yield about(case, item, run, "run-not-bound", what, fix=fix)

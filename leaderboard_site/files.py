"""Files below a folder, written only where they change; and the parts that hold entries.

Ten thousand entries make ten thousand pages, but not as many files in between: `generate` keeps
the made entries in `PARTS` files a site, one line an entry, and `build` spreads them out. A part
none of whose entries changed is neither read nor written.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from bot import files as disk

PARTS = 64
KEYS = "keys.json"
"""In the generated folder: part -> entry -> digest of all that its files are made of."""

Keys = dict[str, dict[str, str]]


class Writer:
    """Writes files below a folder, only where their bytes change; `close` removes the rest."""

    def __init__(self, root: Path) -> None:
        self.root = str(root)
        self.written = 0
        self._old = {
            os.path.join(folder, name) for folder, _, names in os.walk(self.root) for name in names
        }

    def put(self, name: str, data: str | bytes) -> None:
        """Write one file."""
        path = f"{self.root}/{name}"
        blob = data.encode() if isinstance(data, str) else data
        if path in self._old:
            self._old.discard(path)
            with open(path, "rb") as file:
                if file.read() == blob:
                    return
        disk.write(path, blob, durable=False)
        self.written += 1

    def keep(self, name: str) -> bool:
        """Leave a file of an earlier time as it is; whether it is there."""
        path = f"{self.root}/{name}"
        if path not in self._old:
            return False
        self._old.discard(path)
        return True

    def close(self) -> None:
        """Remove the files of an earlier time that were not written again, and empty folders."""
        for path in self._old:
            os.unlink(path)
        for folder in sorted({os.path.dirname(p) for p in self._old}, reverse=True):
            while folder != self.root and os.path.isdir(folder) and not os.listdir(folder):
                os.rmdir(folder)
                folder = os.path.dirname(folder)


# ---- Parts ---------------------------------------------------------------------------------------


def part_of(entry: str) -> str:
    """The part that holds an entry `track/slug`."""
    return f"{zlib.crc32(entry.encode()) % PARTS:02d}"


def write_parts(out: Path, entries: Iterable[tuple[str, str, Callable[[], str]]]) -> int:
    """Write the parts below `out`; the number of files that changed.

    An entry is (name, key, what makes its text); what an earlier time made under the same key is
    taken over as it is.
    """
    groups: dict[str, list[tuple[str, str, Callable[[], str]]]] = {}
    for entry in entries:
        groups.setdefault(part_of(entry[0]), []).append(entry)
    known = read_keys(out)
    # Until all is done nothing is said to be made: a build that ends early takes nothing over.
    (out / KEYS).unlink(missing_ok=True)
    writer = Writer(out / "parts")
    keys: Keys = {}
    for part, members in sorted(groups.items()):
        keys[part] = {name: key for name, key, _ in members}
        if known.get(part) == keys[part] and writer.keep(part):
            continue
        old = {name: line for name, key, line in _lines(out, part) if keys[part].get(name) == key}
        lines = [
            old.get(name) or f"{name} {key} {json.dumps(make(), ensure_ascii=False)}\n"
            for name, key, make in members
        ]
        writer.put(part, "".join(lines).encode("utf-8", "replace"))
    writer.close()
    disk.write(out / KEYS, json.dumps(keys))
    return writer.written


def read_part(out: Path, part: str, wanted: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """(name, text) of the entries of a part that `wanted` (name -> key) names."""
    for name, key, line in _lines(out, part):
        if wanted.get(name) == key:
            yield name, json.loads(line.split(" ", 2)[2])


def _lines(out: Path, part: str) -> Iterator[tuple[str, str, str]]:
    path = out / "parts" / part
    if not path.is_file():
        return
    with path.open(encoding="utf-8", newline="\n") as file:
        for line in file:
            name, _, rest = line.partition(" ")
            yield name, rest.partition(" ")[0], line


def read_keys(out: Path) -> Keys:
    """The keys of an earlier time; empty where there are none."""
    found: Keys = remembered(out / KEYS)
    return found


def remembered(path: Path) -> dict[str, Any]:
    """What an earlier time left in a JSON file; empty where it is absent or damaged, and then
    everything is made anew."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}

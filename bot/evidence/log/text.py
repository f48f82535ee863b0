"""The text of a log, whatever it was saved as, and what a file is that is not a log at all."""

from __future__ import annotations

import codecs
import json
import re

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-9;:?<=>!]{0,40}[ -/]{0,4}[@-~]|\][^\x07\x1b]{0,400}\x07?|[@-Z\\-_])"
)
_SPACES = str.maketrans(
    {
        "\u00a0": " ",
        "\u202f": " ",
        "\u2009": " ",
        "\ufeff": "",
        "\uff1a": ":",
        "\uff1d": "=",
        "\x00": "",
    }
)
_SAMPLE = 4096
MAX_LINE = 4000
_WRAPPED = re.compile(r'"(?:log|message|msg|text)"\s?:\s?"')
_WIDE = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

_PACKED = "unpack it and submit the log itself"
_KINDS: tuple[tuple[bytes, str, str], ...] = (
    (b"version https://git-lfs", "is a Git LFS pointer: the log itself is not in it",
     "run `git lfs pull`, or add the log without LFS"),
    (b"\x1f\x8b", "is compressed with gzip", "run `gunzip` on it and submit the log itself"),
    (b"\x28\xb5\x2f\xfd", "is compressed with zstd", "run `unzstd` on it; submit the log itself"),
    (b"\xfd7zXZ", "is compressed with xz", "run `unxz` on it and submit the log itself"),
    (b"BZh", "is compressed with bzip2", "run `bunzip2` on it and submit the log itself"),
    (b"PK\x03\x04", "is a ZIP archive", _PACKED),
    (b"7z\xbc\xaf", "is a 7-Zip archive", _PACKED),
    (b":W&B", "is a W&B offline file", "give it with its ending .wandb"),
    (b"%PDF", "is a PDF", "submit the text that the training printed"),
    (b"\x89PNG", "is a picture", "submit the text that the training printed"),
    (b"SQLite format 3", "is an SQLite database", "submit the text that the training printed"),
    (b"PAR1", "is a Parquet file", "export it as CSV with the columns step and val_loss"),
    (b"\x80\x02", "is a Python pickle, which is never opened", "submit the text that was printed"),
    (b"\x80\x04", "is a Python pickle, which is never opened", "submit the text that was printed"),
    (b"\x80\x05", "is a Python pickle, which is never opened", "submit the text that was printed"),
)  # fmt: skip


def what_else(data: bytes) -> tuple[str, str] | None:
    """What a file is that holds no log, and what to do; None for text, read or not."""
    if not data.strip():
        return "is empty", "submit the log that the training printed"
    for magic, what, fix in _KINDS:
        if data.startswith(magic):
            return what, fix
    head = data[:_SAMPLE]
    if b"brain.Event:" in head:
        fix = "export its scalars as CSV with the columns step and val_loss"
        return "is a TensorBoard event file", fix
    if head.lstrip()[:1] == b"{" and b'"nbformat"' in data and b'"cells"' in data:
        return "is a notebook", "save the output of the training cell as a text file"
    if re.match(rb"\s{0,40}<(?:!doctype html|html)", head, re.IGNORECASE):
        return "is a web page", "download the raw file, not the page that shows it"
    if _encoding(data) is None and b"\0" in head:
        if b"step" in data or b"s\0t\0e\0p" in data:
            fix = "save it as UTF-8 from beginning to end"
            return "changes its encoding between UTF-16 and UTF-8", fix
        return "is not a text file", "submit the text that the training printed"
    return None


def decode(data: bytes) -> tuple[str, bool]:
    """The text with LF line ends and without codes of a terminal, and whether its last line ends.

    A line that a terminal would overwrite (carriage return, backspace) is a line of its own.
    """
    text = data.removeprefix(codecs.BOM_UTF8).decode(_encoding(data) or "utf-8", "replace")
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if not text.isascii() or "\x00" in text:
        text = text.translate(_SPACES)
    for end in ("\r\n", "\r", "\x0b", "\x0c", "\u2028"):
        if end in text:
            text = text.replace(end, "\n")
    if "\x08" in text:
        text = re.sub("\x08+", "\n", text)
    return text, text.endswith("\n")


def _encoding(data: bytes) -> str | None:
    """The encoding that a byte order mark or the zeros of a wide one tell; None for UTF-8."""
    for mark, name in _WIDE:
        if data.startswith(mark):
            return name
    head = data[: _SAMPLE - _SAMPLE % 2]
    if b"\0" not in head or len(data) % 2:
        return None
    low, high = head[0::2].count(0), head[1::2].count(0)
    if high > 0.8 * (len(head) // 2) and low == 0 and data[1::2].count(0) > 0.8 * (len(data) // 2):
        return "utf-16-le"
    if low > 0.8 * (len(head) // 2) and high == 0 and data[0::2].count(0) > 0.8 * (len(data) // 2):
        return "utf-16-be"
    return None


def unpack(text: str) -> list[str] | None:
    """The lines of a log that lies in JSON: texts that a container's runtime or a logger wrapped
    line by line, or one line a record of a list of records, also under `log_history`."""
    if text.lstrip()[:1] not in ("[", "{"):
        return None
    if _WRAPPED.search(text[:MAX_LINE]):
        return [part for line in text.split("\n") for part in _unwrapped(line).split("\n")]
    if '"step"' not in text:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    value = value.get("log_history") if isinstance(value, dict) else value
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        return None
    return [json.dumps(item) for item in value]


def _unwrapped(line: str) -> str:
    """The text in a line of JSON that wraps one; the line itself if it wraps none."""
    if line[:1] != "{" or len(line) > 2 * MAX_LINE:
        return line
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return line
    texts = (value.get(name) for name in ("log", "message", "msg", "text"))
    return next((t.strip() for t in texts if isinstance(t, str) and "loss" in t), line)

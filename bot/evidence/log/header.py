"""What a training log says besides its steps: hardware, software, source code, seed, nonce.

`Header.feed` takes one line at a time; lines whose numbers are not numbers (the f-strings of an
embedded source) are nothing. Forms of hardware: an nvidia-smi table, `on DEVICE with world_size N`,
`device_name=DEVICE with world_size=N`, and the `key: value` lines of the reference trainer.
"""

from __future__ import annotations

import dataclasses as dc
import re
from collections.abc import Iterator, Mapping, Sequence

from bot.compute import accelerators
from bot.evidence import machine
from bot.evidence.boards import boards
from bot.evidence.code_hash import source_sha256
from bot.evidence.log.owner import owners_in, pages_in
from bot.model.run import BINDING, TRAINER, Hardware, Stated, Witness, WitnessKind
from bot.render.untrusted import plain

_GPU_ROW = re.compile(
    r"\|\s+(\d{1,4})\s+(\S.*?)\s+(?:On|Off|N/A)\s*\|"
    r"\s*[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f]\b"
)
_GPU_MEMORY = re.compile(r"\|[^|]{1,60}\|\s{0,20}\d{1,8}MiB\s{0,3}/\s{0,9}(\d{1,8})MiB\s{0,20}\|")
_SMI_TITLE = re.compile(r"\|\s*NVIDIA-SMI\b|.*\bDriver Version:")
_DRIVER = re.compile(r"Driver Version:\s*([0-9][0-9.]{0,30})")
_TORCH = re.compile(
    r"Running [Pp]y[Tt]orch (\S+) compiled for (CUDA|ROCm|HIP|ROCm/HIP) (None|\d\S*)(.*)"
)
_LISTED = re.compile(r"GPU (\d{1,4}): (\S.{0,120}?) \(UUID: ([\w-]{0,60})")
_AMD_ROW = re.compile(
    r"GPU\[(\d{1,4})\]\s*:\s*(?:Card [Ss]eries|Card [Mm]odel|Device Name):\s*(\S.*)"
)
_ON_DEVICE = re.compile(r"\s*on (\S.*?)\s+with world_size[ =](\d{1,5})\s*$")
_NAMED_DEVICE = re.compile(r"Running on device_name=([^{}]+?)\s+with world_size=(\d{1,5})\s*$")
_CARD = re.compile(
    r"(?<![a-z])(?:devices?|gpus?|cards?|accelerators?|hardware|device_?name|get_device_name)"
    r"(?:\(\d{0,3}\))?['\"]?\s{0,3}(?:[:=]|is\b|name\b)?\s{0,3}(?:\d{1,4}\s?x\s)?['\"]?"
    r"((?:NVIDIA|AMD|Tesla|GeForce|Instinct|TPU)\b[\w .-]{2,60})", re.IGNORECASE,
)  # fmt: skip
"""A line that names the device in words of its own."""
_VENDOR = re.compile(r"(?:NVIDIA|AMD|Instinct|Tesla|GeForce|TPU)\b.*\d", re.IGNORECASE)
_VERSION = re.compile(r"Running ([Pp]ython|Triton) (?:version )?(\d\S*)")
_SEED = re.compile(r"Using seed=(\d{1,20})\s*$")
_STARTED = re.compile(r"Run UTC timestamp=(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)\s*$")
_KEYED = re.compile(
    r"(nonce|seed|code_sha256|data_fingerprint|validation_fingerprint|device|world_size|precision)"
    r": (\S.*?)\s*$"
)
_PEAK = re.compile(r"peak: (\d{1,6}(?:\.\d{1,3})?) TFLOP/s (\w{2,8})\b")
_HEX64 = re.compile(r"[0-9a-f]{64}")
_RULE = re.compile(r"={60,}")
_IMPORT = re.compile(r"(?:import|from) \w")
_BLOCK = re.compile(r"(?:def|class|for|if|with|async def) .*")
_WHOLE_BLOCK = re.compile(
    r"\s{0,80}(?:def|class|for|if|with|while|async def) [^:]{1,200}.{0,200}:\s*$"
)
_MAX_SOURCE_LINES = 100_000
_MAX_NAMED = 64
_MOST_LOOKED = 3000


@dc.dataclass(slots=True)
class Header:
    """The facts read so far. A table or a device line that comes later replaces the earlier."""

    rows: dict[int, str] = dc.field(default_factory=dict)
    memories: dict[int, float] = dc.field(default_factory=dict)
    """The memory in bytes of each GPU of the table."""
    boards: dict[int, str] = dc.field(default_factory=dict)
    """The identity of each GPU, where a list names them."""
    device: str | None = None
    world_size: int | None = None
    driver: str | None = None
    software: dict[str, str] = dc.field(default_factory=dict)
    code: dict[str, str] = dc.field(default_factory=dict)
    computed: dict[str, str] = dc.field(default_factory=dict)
    """Hashes of the source that the log itself holds: they count, whatever it states."""
    program: tuple[Stated, ...] = ()
    """What the source in the log states."""
    seed: int | None = None
    nonce: str | None = None
    data_fingerprint: str | None = None
    created_at: str | None = None
    precision: str | None = None
    peak_flops: float | None = None
    validation_fingerprint: str | None = None
    devices: tuple[str, ...] = ()
    """Every device that was named since the last run began; `counts` likewise."""
    counts: tuple[int, ...] = ()
    stated: dict[str, str] = dc.field(default_factory=dict)
    """Hashes that the log states and its own source contradicts."""
    said: dict[str, tuple[str, ...]] = dc.field(default_factory=dict)
    """Every value of a setting that was stated since the last run began."""
    facts: machine.Facts = dc.field(default_factory=dict)
    """What tells the machine from another one."""
    looked: int = 0
    """How many lines were read for it."""
    rows_taken: bool = False
    """Whether the rows of the table are those of a run that began."""
    owners: tuple[str, ...] = ()
    """Logins of whose run it is; `pages` are keys of runs on W&B whose pages are named."""
    pages: tuple[str, ...] = ()

    def go_on(self, later: Header) -> None:
        """Take the machines that `later` names, which stand between the steps of this run."""
        fresh = () if later.rows_taken else tuple(dict.fromkeys(later.rows.values()))
        self._named(*later.devices, *fresh)
        self.counts = (*self.counts, *later.counts)[:_MAX_NAMED]
        self.said = {**self.said, **{k: (*self.said.get(k, ()), *v) for k, v in later.said.items()}}
        self.owners, self.pages = later.owners, later.pages
        later.devices, later.counts, later.said, later.rows_taken = (), (), {}, True

    def feed(self, line: str) -> None:
        """Take one line, without its leading white space."""
        self.owners = _more(self.owners, owners_in(line))
        self.pages = _more(self.pages, pages_in(line))
        if self.looked < _MOST_LOOKED:
            self.looked += 1
            machine.read(line, self.facts)
        if line.startswith("|"):
            self._table(line)
        elif line.startswith("Running "):
            self._running(line)
        elif match := _KEYED.match(line):
            self._keyed(match.group(1), match.group(2))
        elif line.startswith("GPU ") and (match := _LISTED.match(line)):
            self.rows[int(match.group(1))] = match.group(2)
            self.boards[int(match.group(1))] = match.group(3)
        elif line.startswith("GPU[") and (match := _AMD_ROW.match(line)):
            if not re.fullmatch(r"0x[0-9a-fA-F]+|N/A", match.group(2)):
                self.rows.setdefault(int(match.group(1)), match.group(2))
        elif match := _PEAK.match(line):
            self.peak_flops, self.precision = float(match[1]) * 1e12, match[2]
        elif match := _SEED.match(line):
            self.seed = int(match.group(1))
            self._say("seed", str(self.seed))
        elif match := _STARTED.match(line):
            self.created_at = match.group(1)
        elif len(line) <= 200 and "{" not in line and (match := _CARD.search(line)):
            self._card(match.group(1).strip(" .-"))

    def fresh(self) -> Header:
        """A header that has read no line yet, of the same source."""
        source = dict(self.computed)
        return Header(code=source, computed=dict(source), program=self.program)

    def copy(self) -> Header:
        """The header as it stands, for the run that begins here."""
        copy = dc.replace(
            self,
            rows=dict(self.rows),
            boards=dict(self.boards),
            memories=dict(self.memories),
            facts=dict(self.facts),
            software=dict(self.software),
            code=dict(self.code),
        )
        self.devices, self.counts, self.said, self.rows_taken = (), (), {}, True
        return copy

    def two_values(self) -> str | None:
        """A setting that one run states with two values, in words; None without one."""
        for name, values in self.said.items():
            first, *others = dict.fromkeys(values)
            if others:
                return f"the log states two values of {name}, {first} and {others[0]}"
        return None

    def contradiction(self) -> str | None:
        """Two kinds of machine in one run, or two sizes of it, in words; None for one."""
        named = {
            found.accelerator.id: name
            for name in (*self.devices, *self.rows.values())
            if (found := accelerators.find(name)) is not None
        }
        sizes = sorted(set(self.counts))
        named |= self._unknown(named)
        if len(named) > 1:
            return f"the log names two kinds of machine for one run, {' and '.join(named)}"
        if len(sizes) > 1:
            return f"the log states two world sizes for one run, {sizes[0]} and {sizes[1]}"
        for number, total in self.memories.items():
            told = accelerators.other_card(self.rows.get(number, ""), total)
            if told is not None:
                return f"the log's table of GPUs contradicts itself: {plain(told, 120)}"
        return None

    def _unknown(self, known: Mapping[str, str]) -> dict[str, str]:
        """Devices of a vendor that no table has, unless one says more or less of a known name."""
        short = [re.sub(r"[^a-z0-9]", "", name.lower()) for name in known.values()]
        return {
            name: name
            for name in (*self.devices, *self.rows.values())
            if _VENDOR.match(name)
            and accelerators.find(name) is None
            and not accelerators.is_cut(name)
            and (words := re.sub(r"[^a-z0-9]", "", name.lower()))
            and not any(words in other or other in words for other in short)
        }

    def _code(self, name: str, digest: str) -> None:
        """A hash that the log states. What its own source gives is stronger."""
        if digest in self.computed.values():
            self.code.pop("source", None)
            self.code[name] = digest
        elif not self.computed or name == TRAINER:
            self.code[name] = digest
        else:
            self.stated = {**self.stated, name: digest}

    def witnesses(self) -> Iterator[Witness]:
        """What the header says besides: the devices that it lists, and the hash of the source."""
        listed, used = len(self.rows), self.hardware().count or 0
        where = "the list of devices in the log"
        if listed > used:
            yield Witness("chips", listed, WitnessKind.MACHINE, where)
        if listed > 1 and not self.world_size:
            yield Witness("listed", listed, WitnessKind.MACHINE, where)
        if self.boards and used >= len(self.boards):
            yield from boards(self.boards.values(), "the log")
        yield from machine.witnesses(self.facts)
        yield from self._sources()
        for page in self.pages:
            yield Witness("page", page, WitnessKind.MACHINE, "W&B's lines in the log")

    @property
    def tags(self) -> tuple[str, ...]:
        """The owners as the tags that name them on W&B."""
        return tuple(f"{BINDING}{login}" for login in self.owners)

    def _sources(self) -> tuple[Witness, ...]:
        """A stated hash beside that of the source in the log, where they differ."""
        if not self.stated or not self.computed:
            return ()
        kind, digest = WitnessKind.PROGRAM, next(iter(self.computed.values()))
        found = [Witness("code", digest, kind, "the source in the log")]
        found += [
            Witness("code", stated, WitnessKind.AUTHOR, f"the log's line on {plain(name, 60)}")
            for name, stated in self.stated.items()
        ]
        return tuple(found)

    def config(self) -> dict[str, str | float]:
        """What belongs to the configuration of the run."""
        names = ("precision", "validation_fingerprint", "peak_flops")
        return {name: value for name in names if (value := getattr(self, name)) is not None}

    @property
    def chips(self) -> int | None:
        """How many devices the run used."""
        return self.hardware().count

    def hardware(self) -> Hardware:
        """Device, count and driver; a machine with several kinds names them all."""
        names = list(dict.fromkeys(self.rows.values()))
        device = plain(" + ".join(names) if names else self.device or "", 200) or None
        # The table shows one host, all of it; the world size is what the run used.
        return Hardware(device, self.world_size or len(self.rows) or None, self.driver)

    def _card(self, name: str) -> None:
        """A device that is named in passing: it counts where the table knows it."""
        if accelerators.find(name) is not None:
            self._named(name)
            if self.device is None and not self.rows:
                self.device = name

    def _table(self, line: str) -> None:
        if _SMI_TITLE.match(line):
            if not self.rows_taken:
                self._named(*dict.fromkeys(self.rows.values()))
            self.rows.clear()
            self.memories.clear()
            self.rows_taken = False
            if match := _DRIVER.search(line):
                self.driver = match.group(1)
        elif match := _GPU_ROW.match(line):
            self.rows[int(match.group(1))] = match.group(2)
        elif self.rows and (match := _GPU_MEMORY.match(line)):
            self.memories[list(self.rows)[-1]] = int(match.group(1)) * 2.0**20

    def _running(self, line: str) -> None:
        if match := _TORCH.match(line):
            kind = "cuda" if match.group(2) == "CUDA" else "rocm"
            self.software["torch"] = match.group(1)
            if match.group(3) != "None":
                self.software[kind] = match.group(3)
            if device := _ON_DEVICE.match(match.group(4)):
                self._machine(device.group(1), int(device.group(2)))
        elif match := _NAMED_DEVICE.match(line):
            self._machine(match.group(1), int(match.group(2)))
        elif match := _VERSION.match(line):
            self.software[match.group(1).lower()] = match.group(2)

    def _machine(self, device: str, count: int) -> None:
        self.device, self.world_size = device, count
        self._named(device)
        if len(self.counts) < _MAX_NAMED:
            self.counts = (*self.counts, count)

    def _named(self, *devices: str) -> None:
        self.devices = (*self.devices, *devices)[:_MAX_NAMED]

    def _keyed(self, key: str, value: str) -> None:
        """The lines that the reference trainer writes before its first step."""
        if key in ("seed", "world_size"):
            if value.isascii() and value.isdigit() and len(value) <= 20:
                setattr(self, key, int(value))
                if key == "seed":
                    self._say(key, str(int(value)))
                if key == "world_size" and len(self.counts) < _MAX_NAMED:
                    self.counts = (*self.counts, int(value))
        elif key == "code_sha256":
            *name, digest = value.split()
            if _HEX64.fullmatch(digest.lower()):
                self._code(" ".join(name)[:200] or "source", digest.lower())
        elif "{" not in value and len(value) <= 200:
            setattr(self, key, value)
            if key == "device":
                self._named(value)
            else:
                self._say(key, value)

    def _say(self, name: str, value: str) -> None:
        self.said[name] = (*self.said.get(name, ()), plain(value, 40))[:_MAX_NAMED]


def _more(known: tuple[str, ...], new: tuple[str, ...]) -> tuple[str, ...]:
    """The known ones and the new, each once."""
    return tuple(dict.fromkeys((*known, *new)))[:_MAX_NAMED] if new else known


def embedded_source(lines: Sequence[str]) -> tuple[int, Mapping[str, str]]:
    """The source code that a log begins with: the index of the first line after it, and its hash.

    Source is the text before the first rule of `=` (or between the first two, where the log begins
    with one), when it reads as Python: an import and a block. No source gives (0, {}).
    """
    start = 1 if lines and _RULE.fullmatch(lines[0].strip()) else 0
    limit = min(len(lines), _MAX_SOURCE_LINES)
    end = next((i for i in range(start, limit) if _RULE.fullmatch(lines[i].strip())), None)
    if end is None:
        return 0, {}
    source = lines[start:end]
    if not _is_source(source):
        return 0, {}
    return end + 1, {"source": source_sha256("\n".join(source))}


def stated_by_source(lines: Sequence[str], end: int) -> tuple[Stated, ...]:
    """What the source in a log states: of its first `end` lines, and of the rest if that reads as
    Python as well. Lines count as those of the log."""
    rest = lines[end : end + _MAX_SOURCE_LINES]
    goes_on = any(map(_WHOLE_BLOCK.match, rest))
    kept = lines[: end + len(rest)] if goes_on else lines[:end]
    if not kept:
        return ()
    from bot.evidence.program import read_program

    return read_program("\n".join("" if _RULE.fullmatch(x.strip()) else x for x in kept))


def _is_source(lines: Sequence[str]) -> bool:
    """Whether lines read as Python: an import and a block."""
    return any(map(_IMPORT.match, lines)) and any(map(_BLOCK.match, lines))

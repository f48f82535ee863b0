"""What a run says of the machine that it was on, to be compared between the arms of a comparison.

    recorded(metadata)                      of W&B's record of the machine
    stated({"versions.system": "Linux"})    of a configuration
    read("load average: 17.4, 9.0", found)  of a line before the steps of a log

Facts are witnesses of quantities that begin with `machine.`: counts, gigabytes and versions as they
are, names of processors and hosts as numbers that do not give them back. Nothing shows a host.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from bot.evidence.second import last_part
from bot.model.run import MACHINE, Witness, WitnessKind

Facts = dict[str, float | str]
_RECORD, _CONFIG, _HEADER = "W&B's record of the machine", "the configuration", "the log's header"
_LONGEST = 400
_MOST = 300
"""Settings of a configuration under the names of this module that are looked at."""

_FAMILIES = {"linux": "Linux", "darwin": "Darwin", "macos": "Darwin", "windows": "Windows"}
_FAMILY = re.compile(r"\b(linux|darwin|macos|windows)\b", re.IGNORECASE)
_KERNEL = re.compile(r"linux(?:\s{1,3}[\w.-]{1,60})??[\s-](\d{1,3}\.\d{1,4})\.\d", re.IGNORECASE)
_ARCHES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}
_ARCH = re.compile(r"(?<![a-z0-9])(x86_64|amd64|aarch64|arm64)(?![a-z0-9])", re.IGNORECASE)
_VERSION = re.compile(r"(?:[A-Za-z]{2,12}\s{1,3}|v)?(\d{1,4}\.\d{1,4})(?![\w])")
_NUMBER = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)\s{0,2}([KMGT])?i?B?\b", re.IGNORECASE)
_GIB = {"k": 2.0**-20, "m": 2.0**-10, "g": 1.0, "t": 2.0**10}
_NAMES: Mapping[str, str] = {
    name: fact
    for fact, names in {
        "system": "system os platform operating_system uname",
        "python": "python python_version",
        "torch": "torch pytorch torch_version pytorch_version",
        "jax": "jax jax_version",
        "jaxlib": "jaxlib jaxlib_version",
        "kernel": "kernel_version os_release kernel_release",
        "arch": "machine arch architecture",
        "cpus": "cpu_count cpus cpu_cores num_cpus n_cpus nproc physical_cores cores",
        "threads": "cpu_count_logical logical_cpus logical_cores cpu_threads",
        "cpu": "cpu cpu_model cpu_name processor cpu_type cpu_brand",
        "memory": "ram total_ram ram_total ram_gb total_memory memory_total mem_total memtotal "
        "system_memory host_memory memory_gb",
        "host": "host hostname host_name nodename node_name",
        "load": "load_average load_averages loadavg load_avg system_load",
    }.items()
    for name in names.split()
}
_OTHERWISE = frozenset(("processor", "cores", "load"))
"""Names that mean something else in a configuration."""
_PAIR = re.compile(
    r"(?:^|[,;|{\]]|\d\s|-\s)[\s'\"]{0,8}([A-Za-z][\w -]{1,24}?)['\"]?\s{0,3}[:=]\s{0,3}"
    r"['\"(\[]{0,2}([^,;|'\"{}]{1,120})"
)
_BARE = re.compile(
    r"(?<![\w.-])(python|system|torch|jax|jaxlib|cpus)\s{1,3}(?:version\s)?([A-Z][a-z]{4,8}\b|\d[\w.+]{0,40})"
)
_RUNNING = re.compile(r"(?<![\w.])(\d{1,6})\s{1,3}running\b", re.IGNORECASE)
_PROCESSES = re.compile(r"\b(?:process|tasks|procs)", re.IGNORECASE)
_GPU_USE = re.compile(r"MiB\s{0,3}/\s{0,9}\d{1,8}MiB\s{0,3}\|\s{0,8}(\d{1,3})%")
_POWER = re.compile(r"\d{1,4}W\s{0,3}/\s{0,4}(\d{2,4})W")


def recorded(metadata: Mapping[str, Any]) -> list[Witness]:
    """The facts in W&B's record of the machine, under the names of `wandb-metadata.json`."""
    cpu, apple = _inner(metadata, "cpu"), _inner(metadata, "apple")
    found: Facts = {}
    for fact, value in (
        ("system", metadata.get("os")),
        ("python", metadata.get("python")),
        ("host", metadata.get("host")),
        ("cpus", metadata.get("cpu_count") or cpu.get("count")),
        ("threads", metadata.get("cpu_count_logical") or cpu.get("count_logical")),
        ("cpu", cpu.get("model") or apple.get("name")),
        ("memory", _inner(metadata, "memory").get("total") or apple.get("ram_total_bytes")),
        ("disk", _inner(_inner(metadata, "disk"), "/").get("total")),
        ("gpus", metadata.get("gpu_count")),
    ):
        _take(fact, value, found)
    return list(witnesses(found, WitnessKind.MACHINE, _RECORD))


def stated(config: Mapping[str, object]) -> list[Witness]:
    """The facts that a configuration of flat names states."""
    found: Facts = {}
    known = ((last_part(name), value) for name, value in config.items())
    named = [(_NAMES[n], value) for n, value in known if n in _NAMES and n not in _OTHERWISE]
    for fact, value in named[:_MOST]:
        _take(fact, value, found)
    return list(witnesses(found, WitnessKind.PROGRAM, _CONFIG))


def read(line: str, found: Facts) -> None:
    """Take what one line of a log states, without its leading white space."""
    if line.startswith("|"):
        if "NVIDIA-SMI" in line:
            found.pop("gpu_use", None)
        line = line[:_LONGEST]
        if match := _GPU_USE.search(line):
            found["gpu_use"] = max(float(match[1]), _numeric(found.get("gpu_use")))
        if match := _POWER.search(line):
            found["power"] = float(match[1])
        return
    if len(line) > _LONGEST or "{" in line and '"' not in line:
        return
    if ":" in line or "=" in line:
        for match in _PAIR.finditer(line):
            fact = _NAMES.get(re.sub(r"[\s-]+", "_", match[1].strip().lower()))
            if fact is not None:
                _take(fact, match[2].strip(), found)
        for match in _BARE.finditer(line):
            if match[1] in _NAMES:
                _take(_NAMES[match[1]], match[2], found)
    if _PROCESSES.search(line) and (match := _RUNNING.search(line)):
        found["processes"] = float(match[1])


def witnesses(
    found: Facts, kind: WitnessKind = WitnessKind.PROGRAM, source: str = _HEADER
) -> Iterator[Witness]:
    """Facts as witnesses, by default those of the lines of a log."""
    for fact, value in found.items():
        yield Witness(MACHINE + fact, value, kind, source)


def may_be_kept(witness: Witness) -> bool:
    """Whether a snapshot may hold a witness: numbers, and the words that this module made."""
    value = witness.value
    if isinstance(value, int | float):
        return True
    known = {*_FAMILIES.values(), *_ARCHES.values()}
    return witness.quantity.startswith(MACHINE) and bool(value in known or _VERSION.match(value))


def _take(fact: str, value: object, found: Facts) -> None:
    """Take one fact, if its value is one of its kind."""
    text = str(value).strip()[:200] if isinstance(value, str | int | float) else ""
    if not text or isinstance(value, bool):
        return
    if fact in ("system", "kernel", "arch"):
        found |= _of_system(text) if fact != "kernel" else _of_system(f"linux {text}")
    elif fact in ("python", "torch", "jax", "jaxlib"):
        if match := _VERSION.match(text.partition("+")[0]):
            found[fact] = match[1]
    elif fact == "host":
        # So few digits that many hosts share them: they tell two apart, and name none.
        found[fact] = float(_digest(text) % 4096)
    elif fact == "cpu":
        if re.search(r"[A-Za-z]{3}.*\d", text):
            found[fact] = float(_digest(re.sub(r"\W+", " ", text.lower())))
    elif match := _NUMBER.match(text):
        number = float(match[1])
        if fact in ("memory", "disk"):
            # Bytes, or gigabytes as older clients wrote them.
            unit = _GIB[match[2].lower()] if match[2] else 2.0**-30 if number > 1e6 else 1.0
            number = float(f"{number * unit:.3g}")
        found[fact] = number


def _of_system(text: str) -> Facts:
    """System, kernel and architecture in a name as `Linux-6.8.0-x86_64` or that of `uname -a`."""
    found: Facts = {}
    if match := _FAMILY.search(text.replace("_", " ").replace("-", " ")):
        found["system"] = _FAMILIES[match[1].lower()]
    if match := _KERNEL.search(text):
        found["kernel"] = match[1]
    if match := _ARCH.search(text):
        found["arch"] = _ARCHES[match[1].lower()]
    return found


def _digest(text: str) -> int:
    return int(hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12], 16)


def _inner(found: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = found.get(name)
    return value if isinstance(value, Mapping) else {}


def _numeric(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0

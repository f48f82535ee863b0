"""`make bench`: every benchmark in turn, or those named.

    python -m tests.benchmarks [NAME...]

Each is a module of this folder that prints its figures, with the ratio to a named peer where there
is one, and ends with a non-zero status when a limit is missed. GPU benchmarks are left out here:
`python -m reference_trainer bench` runs them on the machine that has one.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXCLUDED = {"__init__", "__main__"}


def names() -> list[str]:
    """The benchmarks that run on any machine: those whose docstring asks for no GPU."""
    found = sorted(p.stem for p in HERE.glob("*.py") if p.stem not in EXCLUDED)
    return [n for n in found if "GPU" not in (HERE / f"{n}.py").read_text().partition("import")[0]]


def main() -> int:
    """Run them; 1 when one fails, 2 when a name is unknown."""
    wanted = sys.argv[1:] or names()
    unknown = [n for n in wanted if not (HERE / f"{n}.py").exists()]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are: {', '.join(names())}")
        return 2
    failed = []
    for name in wanted:
        print(f"== {name}", flush=True)
        command = [sys.executable, "-m", f"tests.benchmarks.{name}"]
        if subprocess.run(command, cwd=HERE.parents[1], check=False).returncode:
            failed.append(name)
    print(
        f"== {len(wanted) - len(failed)} of {len(wanted)} benchmarks within their limits",
        f"(missed: {', '.join(failed)})" if failed else "",
    )
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())

"""Judge N honest submissions: python -m tests.simulations.honest N [--seed S] [--only NUMBER...]

Prints counts by status, track and source, every rejection with its reason, and every reason for a
review. Exits 1 if more than one in a hundred is rejected.
"""

from __future__ import annotations

import argparse
import collections
import sys
import time

from tests.conftest import ROOT
from tests.simulations.honest.judge import Judged, judged


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("count", type=int, nargs="?", default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number to begin with")
    parser.add_argument("--only", type=int, nargs="+", help="these alone, with all that was found")
    given = parser.parse_args()
    numbers = given.only or range(given.first, given.first + given.count)
    began, kept = time.monotonic(), []
    for item in judged(ROOT, numbers, given.seed):
        kept.append(item)
        for line in lines(item, every=given.only is not None):
            print(line, flush=True)
    print(f"\nseed {given.seed}, {len(kept)} submissions, {time.monotonic() - began:.0f} s")
    for part in ("track", "door"):
        counts = collections.Counter((getattr(i.entry, part), i.verdict.status.value) for i in kept)
        for (name, status), count in sorted(counts.items()):
            print(f"  {name:22} {status:14} {count}")
    counts = collections.Counter(i.verdict.status.value for i in kept)
    print("  ".join(f"{status} {count}" for status, count in counts.most_common()))
    return int(counts["rejected"] > len(kept) / 100)


def lines(item: Judged, *, every: bool) -> list[str]:
    """What is printed of one: nothing of one that is verified or consistent."""
    verdict, entry = item.verdict, item.entry
    if not every and verdict.status.value in ("verified", "consistent"):
        return []
    head = f"{entry.number} {verdict.status.value} {entry.track} {entry.door} [{item.about}]"
    levels = ("error",) if verdict.status.value == "rejected" else ("error", "warning")
    return [head] + [
        f"    {f.level} {f.rule}: {f.message}" + (f"\n        Fix: {f.fix}" if every else "")
        for f in verdict.findings
        if every or f.level.value in levels
    ]


if __name__ == "__main__":
    sys.exit(main())

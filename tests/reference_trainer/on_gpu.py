"""Both backends on one GPU, from training to the bot's verdict. Needs no network and no account.

    python -m tests.reference_trainer.on_gpu --out build/on-gpu [--seeds 2]

Trains for the track tutorial-h100 with both starters, judges every log, W&B file and results file
alone and the runs of a backend as a submission, trains once in fp16 with loss scaling, and runs the
tests that need a GPU. The corpus `english` has to be there (SPEEDRUN_DATA; made by
`python -m reference_trainer data english`). Prints one line a result and writes summary.json;
exits 1 where something did not hold.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from reference_trainer import starters

ROOT = Path(__file__).parents[2]
EVIDENCE = {"log": "log.txt", "wandb": "run.wandb", "results": "speedrun_results.json"}
SPEEDRUN = [sys.executable, "-c", "from bot.cli import main; main(prog_name='speedrun')"]


class Session:
    """What was found so far, and the time that is left."""

    def __init__(self, out: Path, track: str, budget_s: float) -> None:
        self.out, self.track, self.ends = out, track, time.monotonic() + budget_s
        self.found: list[dict[str, Any]] = []

    def run(self, name: str, command: list[str], cwd: Path) -> tuple[int, str]:
        """One command; its exit status, 124 past the budget, and what it printed."""
        began = time.monotonic()
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
            "JAX_PLATFORMS": os.environ.get("JAX_PLATFORMS", "cuda,cpu"),
            "XLA_PYTHON_CLIENT_PREALLOCATE": "false",  # torch and JAX share the card in the tests
            "WANDB_SILENT": "true",
        }
        try:
            done = subprocess.run(
                command,
                cwd=cwd,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=max(self.ends - began, 1),
            )
            status, said = done.returncode, done.stdout
        except subprocess.TimeoutExpired as late:
            status, said = 124, str(late.stdout or "") + "\nno time left"
        (self.out / f"{name}.txt").write_text(said, encoding="utf-8")
        print(f"{name}: exit {status}, {time.monotonic() - began:.1f} s", flush=True)
        if status:
            print("\n".join(said.splitlines()[-25:]), flush=True)
        return status, said

    def note(self, name: str, holds: bool, **more: Any) -> None:
        self.found.append({"name": name, "holds": holds, **more})
        details = "  ".join(f"{key} {value}" for key, value in more.items())
        print(f"{'ok  ' if holds else 'FAIL'} {name}  {details}", flush=True)


def train(session: Session, backend: str, seeds: int) -> None:
    """Runs of a starter, and what the bot says of each file and of all runs together."""
    folder = session.out / backend
    starters.copy_starter(backend, folder, track=session.track, author="Example User")
    command = [sys.executable, "main.py", "--seeds", str(seeds), "--out", "runs", "--quiet"]
    status, _ = session.run(f"train-{backend}", command, folder)
    runs = sorted((folder / "runs").rglob("speedrun_results.json"))
    session.note(f"{backend}: all runs end", status == 0 and len(runs) == seeds, runs=len(runs))
    for path in runs:
        info = json.loads(path.read_text(encoding="utf-8"))["runs"][0]["run_info"]
        ours = info["speedrun"]
        first, last = ours["validation"][0][1], ours["validation"][-1][1]
        session.note(
            f"{backend} seed {ours['seed']}: the loss falls",
            last < first - 1,
            loss=f"{first:.3f} -> {last:.4f}",
            time_s=round(info["training_time"], 3),
            bpb=info["eval/bpb"],
            device=ours["device"],
        )
        for kind, name in EVIDENCE.items():
            judge(session, f"{backend} seed {ours['seed']}: {kind}", str(path.parent / name), ROOT)
    submit(session, backend, folder)


def judge(session: Session, name: str, path: str, cwd: Path) -> None:
    """`speedrun check` of one path; it holds where nothing is rejected."""
    command = [*SPEEDRUN, "check", path, "--track", session.track, "--offline", "--format", "json"]
    _, said = session.run(name.replace(": ", "-").replace(" ", "-"), command, cwd)
    try:
        verdict = json.loads(said[said.index("{") :])["verdicts"][0]
    except (ValueError, KeyError, IndexError):
        session.note(name, False, status="no verdict")
        return
    rules = [f"{f['rule']} ({f['level']})" for f in verdict["findings"] if f["level"] != "note"]
    holds = verdict["status"] in ("verified", "needs-review", "needs-runs")
    session.note(name, holds, status=verdict["status"], evidence=verdict["evidence"], rules=rules)


def submit(session: Session, backend: str, folder: Path) -> None:
    """The runs as a submission, in a copy of the competition."""
    copy = session.out / "competition"
    if not copy.exists():
        copy.mkdir()
        shutil.copytree(ROOT / "tracks", copy / "tracks")
        theirs = Path("submissions") / session.track
        shutil.copytree(ROOT / theirs, copy / theirs)
    runs = sorted((folder / "runs").rglob("run.wandb")) or [folder / "runs"]
    logs = [part for path in runs for part in ("--log", str(path))]
    name = f"{session.track}/on-gpu-{backend}"
    home = copy / "submissions" / name
    home.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(folder / "main.py", home / "main.py")
    status, _ = session.run(f"new-{backend}", [*SPEEDRUN, "new", name, *logs], copy)
    session.note(f"{backend}: speedrun new", status == 0)
    judge(session, f"{backend}: submission", f"submissions/{name}", copy)


def half_precision(session: Session) -> None:
    """50 steps of the torch starter in fp16 with loss scaling."""
    changes = {"train.precision": '"fp16"', "train.steps": 50, "train.eval_every": 25}
    settings = [part for k, v in changes.items() for part in ("--set", f"{k}={v}")]
    command = [sys.executable, "main.py", *settings, "--wandb", "off", "--quiet", "--out", "fp16"]
    status, _ = session.run("fp16", command, session.out / "torch")
    path = session.out / "torch" / "fp16" / "speedrun_results.json"
    if status or not path.exists():
        session.note("fp16 with loss scaling", False)
        return
    info = json.loads(path.read_text(encoding="utf-8"))["runs"][0]["run_info"]["speedrun"]
    losses = [round(point[1], 4) for point in info["validation"]]
    session.note("fp16 with loss scaling", losses[-1] < losses[0] - 3, losses=losses)


def gpu_tests(session: Session) -> None:
    """tests/reference_trainer/test_gpu.py, where a skipped test counts as a failure."""
    command = [sys.executable, "-m", "pytest", "tests/reference_trainer/test_gpu.py", "-q", "-rs"]
    command += ["-p", "no:cacheprovider", "-W", "default"]  # other versions than the locked ones
    status, said = session.run("gpu-tests", command, ROOT)
    last = (said.strip().splitlines() or ["nothing"])[-1]
    session.note("GPU tests", status == 0 and "skipped" not in last, said=last)


def main() -> int:
    """Everything in turn; the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="Folder to write into, made anew.")
    parser.add_argument("--track", default="tutorial-h100", help="tutorial runs on any machine.")
    parser.add_argument("--seeds", type=int, default=2, help="Runs of each backend.")
    parser.add_argument("--budget", type=float, default=500, help="Seconds for everything.")
    options = parser.parse_args()
    out = options.out.resolve()
    out.mkdir(parents=True)
    session = Session(out, options.track, options.budget)
    for backend in ("jax", "torch"):
        train(session, backend, options.seeds)
    half_precision(session)
    gpu_tests(session)
    holding = sum(item["holds"] for item in session.found)
    (out / "summary.json").write_text(json.dumps(session.found, indent=1), encoding="utf-8")
    print(f"{holding} of {len(session.found)} hold")
    return 0 if holding == len(session.found) else 1


if __name__ == "__main__":
    sys.exit(main())

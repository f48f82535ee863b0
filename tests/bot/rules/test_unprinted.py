"""Steps of a log that no print of the source in it makes: each form with a near miss."""

from __future__ import annotations

import pytest

from bot.evidence.log.training_log import read_log
from bot.model.verdict import Finding
from bot.registry import Level
from tests.bot.rules.run_cases import a_case, found

RULE = 100 * "="
HEAD = """import os, sys, time
with open(sys.argv[0]) as f:
    code = f.read()
def nvidia_smi():
    import subprocess
    return subprocess.run(["nvidia-smi"], stdout=subprocess.PIPE, text=True).stdout
def print0(s, console=False):
    with open(logfile, "a") as f:
        if console:
            print(s)
        print(s, file=f)
print0(code)
print0("=" * 100)
print0(f"Running Python {sys.version}")
print0(nvidia_smi())
for step in range(steps + 1):
    val_loss = evaluate(model)
    train_time = 1000 * (time.perf_counter() - t0)
"""
USUAL = 'print0(f"step:{step}/{steps} val_loss:{val_loss:.4f} train_time:{train_time:.0f}ms", True)'
STEP = "step:{}/1400 val_loss:{:.4f} train_time:{:.0f}ms"


def judged(prints: str, form: str, head: str = HEAD, extra: str = "") -> list[Finding]:
    """The findings on a log with lines of a form, whose source has these prints."""
    source = "\n".join([head + "    " + prints.replace("\n", "\n    "), RULE, ""])
    steps = [form.format(n, 3.27 + (1400 - n) / 500, 50 * n) for n in range(0, 1401, 200)]
    said = ["device: NVIDIA H100 80GB HBM3", "world_size: 8", *steps, extra, ""]
    runs = read_log((source + "\n".join(said)).encode(), "run.log")
    items = [i for i in found("code-unusual", a_case(runs)) if "is not printed by" in i.message]
    assert {i.level for i in items} <= {Level.WARNING}
    assert not items or items[0].file == "run.log"
    return items


EXPLAINED = [
    (USUAL, STEP),
    (USUAL, "[2026-08-01 10:00:00,123] INFO: " + STEP),
    (USUAL, "[rank0]: " + STEP),
    ('print0("step:%d/%d val_loss:%.4f train_time:%.0fms" % (step, steps, val_loss, t))', STEP),
    ('print0("step:{}/{} val_loss:{:.4f} train_time:{:.0f}ms".format(step, n, val_loss, t))', STEP),
    ('FORM = "step:{}/{} val_loss:{:.4f} {}"\nprint(FORM.format(step, n, val_loss, more()))', STEP),
    ('logger.info("step:%d/%d val_loss:%.4f train_time:%.0fms", step, n, val_loss, t)', STEP),
    ('logger.info("step:{}/{} val_loss:{:.4f} train_time:{:.0f}ms", step, n, val_loss, t)', STEP),
    ('f.write("step:" + str(step) + f"/{n} val_loss:{x:.4f} train_time:{t:.0f}ms\\n")', STEP),
    ('print(f"step:{step}/{n} val_loss:{val_loss:.4f}", f"train_time:{t:.0f}ms")', STEP),
    ('print(f"step:{step}/{n}", end=" ")\nprint(f"val_loss:{x:.4f} train_time:{t:.0f}ms")', STEP),
    ('print(" ".join([f"step:{step}/{n}", f"val_loss:{x:.4f}", f"train_time:{t:.0f}ms"]))', STEP),
    ('a = f"step:{step}/{n} val_loss:{x:.4f}"\na += f" train_time:{t:.0f}ms"\nprint0(a)', STEP),
    ('k = "val" if last else "train"\nprint(f"step:{s}/{n} {k}_loss:{x:.4f} train_time:{t:.0f}ms")',
     STEP),
    ("print(f\"step:{s}/{n} {'val' if last else 'any'}_loss:{x:.4f} train_time:{t:.0f}ms\")", STEP),
    ("say = print\nsay(f'step:{s}/{n} val_loss:{x:.4f} train_time:{t:.0f}ms')", STEP),
    ("import json\nprint(json.dumps({'step': s, 'val_loss': x, 'train_time_s': t}))",
     '{{"step": {}, "val_loss": {}, "train_time_s": {}}}'),
    ("print({'step': s, 'val_loss': x, 'train_time_s': t})",
     "{{'step': {}, 'val_loss': {}, 'train_time_s': {}}}"),
    ("print('step', s, 'val_loss', x, 'train_time', f'{t:.1f}s')",
     "step {} val_loss {} train_time {:.1f}s"),
    ("def told(s, x, t):\n    return f'step:{s}/1400 val_loss:{x:.4f} train_time:{t:.0f}ms'\n"
     "print(told(step, val_loss, t))", STEP),
    ("def more(s):\n    return '' if s < 9 else f' beta:{s:.5g}'\n"
     "print(f'step:{s}/{n} val_loss:{x:.4f} train_time:{t:.0f}ms' + more(s) + more(0))",
     STEP + " beta:0.3"),
    ("def log(msg):\n    print(f'<{os.getpid()}> {msg}')\n"
     "log(f'step:{s}/{n} val_loss:{x:.4f} train_time:{t:.0f}ms')", STEP),
]  # fmt: skip


@pytest.mark.parametrize(("prints", "form"), EXPLAINED, ids=[row[0][:60] for row in EXPLAINED])
def test_lines_that_the_source_prints(prints: str, form: str) -> None:
    assert judged(prints, form) == []


NOT_PRINTED = [
    (USUAL, "step:{}/1400 val_loss:{:.3f} train_time:{:.0f}ms"),
    (USUAL, "step:{}/1400 val_loss:{:.5f} train_time:{:.0f}ms"),
    (USUAL, "step:{}/1400 val_loss:{:.4f} train_time:{:.1f}ms"),
    (USUAL, "step:{}/1400 val_loss:{:.4f} train_time:{:.0f}s"),
    (USUAL, "step:{}/1400 val_loss:{:.4f} train_time:{:.0f}ms step_avg:50ms"),
    (USUAL, "step:{}/1400 loss:9.1 val_loss:{:.4f} train_time:{:.0f}ms"),
    (USUAL, "step:{}/1400 lr:0.1 val_loss:{:.4f} train_time:{:.0f}ms"),
    (USUAL, "step:{}/1400 val_loss: {:.4f} train_time:{:.0f}ms"),
    (USUAL, "step:{}/1400 val_loss:{:.4f}"),
    (USUAL, "step {} val loss {:.4f} train_time {:.0f}ms"),
    ('print0(f"step:{step}/{steps} train_time:{train_time:.0f}ms")', STEP),
    ('print0("step:%d/%d val_loss:%f train_time:%.0fms" % (step, steps, val_loss, t))', STEP),
    ('print0("step:{}/{} val_loss:{:.6f} train_time:{:.0f}ms".format(step, n, val_loss, t))', STEP),
    ('logger.info("step:%d/%d val_loss:%.3f train_time:%.0fms", step, n, val_loss, t)', STEP),
    ('print(f"step:{step}/{n} val_loss:{val_loss:.4f}", f"train_time:{t:.0f}ms", sep=", ")', STEP),
    ('print(" ".join([f"step:{step}/{n}", f"val_loss:{x:.4f}"]))', STEP),
    ("print({'step': s, 'val_loss': x})", "{{'step': {}, 'val_loss': {}, 'train_time_s': {}}}"),
    ("def told(s, x, t):\n    return f'step:{s}/1400 val_loss:{x:.3f} train_time:{t:.0f}ms'\n"
     "print(told(step, val_loss, t))", STEP),
    ("import some_kernels\n" + USUAL, "step:{}/1400 val_loss:{:.3f} train_time:{:.0f}ms"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("prints", "form"), NOT_PRINTED, ids=[f"{a[:40]} {b}" for a, b in NOT_PRINTED]
)
def test_lines_that_the_source_does_not_print(prints: str, form: str) -> None:
    (item,) = judged(prints, form)
    first = 23 + prints.count("\n")
    assert item.line == first and f"line {first} of the log, `" in item.message
    assert "7 other lines are not either" in item.message
    assert item.fix == "attach the log as the program wrote it, or the program that wrote it"


def test_one_line_among_those_that_are_printed() -> None:
    (item,) = judged(USUAL, STEP, extra="step:1401/1400 val_loss:3.2 train_time:70050ms")
    assert "`step:1401/1400 val_loss:3.2 train_time:70050ms`" in item.message
    assert "other" not in item.message
    assert judged(USUAL, STEP, extra="RuntimeWarning: loss 3.2 at 12 s, time 70050ms") == []
    assert judged(USUAL, STEP, extra="|  0  N/A  1234  C  python  3.2MiB |") == []


UNKNOWN = [
    "",  # nothing is printed
    "logger.info(render(step, val_loss))",
    "print(metrics.report())",
    "for line in process.stdout_lines():\n    print(line)",
    "from a_trainer import Trainer\nTrainer(model).fit()\nprint('done')",
    "print('done'\n",  # is no Python
    "for k, v in metrics.items():\n    print(' '.join(parts))",
]


@pytest.mark.parametrize("prints", UNKNOWN)
def test_a_source_whose_prints_cannot_be_told(prints: str) -> None:
    head = "import torch\ndef train():\n    pass\nif True:\n    pass\n"
    assert judged(prints, "step:{}/1400 val_loss:{:.3f} train_time:{:.0f}ms", head) == []


def test_a_source_that_prints_no_measured_quantity_is_another_program() -> None:
    assert judged('print0(f"step:{step}/{steps}")', STEP) == []


def test_a_log_without_a_source() -> None:
    lines = [STEP.format(n, 3.3, n) for n in range(3)]
    (run,) = read_log("\n".join([*lines, ""]).encode(), "run.log")
    assert run.program == ()

"""What the source of a program states, in a log and beside it: each with a near miss."""

from __future__ import annotations

import dataclasses as dc

import pytest

from bot.evidence.log.training_log import read_log
from bot.evidence.program import read_program as read_all
from bot.evidence.program.measuring import KINDS
from bot.model.run import Stated
from bot.model.verdict import Finding
from bot.registry import Level
from tests.bot.rules.run_cases import SMALL, TRACKS, a_case, found
from tests.bot.rules.second_cases import log

RULE = 100 * "="
PROGRAM = """import time, torch
class Settings:
    train_files: str = "data/fineweb_train_*.bin"
    val_files: str = "data/fineweb_val_*.bin"
    val_tokens: int = 10485760
    val_batch_size: int = 4 * 64 * 1024 * 8
    num_iterations = 1400
args = Settings()
train_loader = Loader(args.train_files)
model = GPT(vocab_size=50304)
training_time_ms = 0
t0 = time.perf_counter()
for step in range(args.num_iterations + 1):
    last_step = step == args.num_iterations
    if last_step or (args.val_loss_every > 0 and step % args.val_loss_every == 0):
        training_time_ms += 1000 * (time.perf_counter() - t0)
        val_steps = args.val_tokens // args.val_batch_size
        val_loss = 0.0
        with torch.no_grad():
            for _ in range(val_steps):
                val_loss += model(next(val_loader))
        val_loss /= val_steps
        # VALIDATED
        print0(f"step:{step}/{n} val_loss:{val_loss:.4f} train_time:{training_time_ms:.0f}ms")
        t0 = time.perf_counter()
    if last_step:
        break
    model(next(train_loader)).backward()
    optimizer.step()
    # TRAINED
# END
"""


def read_program(text: str) -> tuple[Stated, ...]:
    return tuple(s for s in read_all(text) if s.kind not in KINDS)


def program(old: str, new: str = "") -> str:
    """The program with a part of it replaced, or with a line added where it is marked."""
    if new:
        assert old in PROGRAM
        return PROGRAM.replace(old, new)
    marks = {"        ": "        # VALIDATED", "    ": "    # TRAINED", "": "# END"}
    lines = old.split("\n")
    indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    return PROGRAM.replace(marks[indent] + "\n", old + "\n")


def judged(source: str, rule: str = "code-unusual", track: str = SMALL.id) -> list[Finding]:
    """The findings on a program, embedded in a log and as a file beside another: the same."""
    runs = read_log(f"{source}{RULE}\n".encode() + log(), "run.log")
    inside = [*found(rule, a_case(runs, track=TRACKS[track]))]
    (run,) = read_log(log(), "run.log")
    beside = found(rule, a_case([run], track=TRACKS[track], files={"main.py": source.encode()}))
    assert [f.line for f in inside] == [f.line for f in beside]
    assert {f.level for f in inside} <= {Level.WARNING}
    return inside


def test_an_honest_program_raises_nothing() -> None:
    for rule in ("code-unusual", "witnesses-disagree", "train-validation-overlap"):
        assert judged(PROGRAM, rule) == []


SIZES = [
    ("val_tokens: int = 10485760", "val_tokens: int = 10_485_760 // 8", "1,310,720"),
    ("val_tokens: int = 10485760", "val_tokens: int = 1 << 20", "1,048,576"),
    ("val_tokens: int = 10485760", "val_tokens = int(2**19)", "524,288"),
    ("args = Settings()", "args = Settings(val_tokens=max(512, 1024) * 8)", "8,192"),
    ("args = Settings()", "args = Settings()\nargs.val_tokens //= 8", "1,310,720"),
    ("args = Settings()", "p.add_argument('--val-tokens', type=int, default=4096)", "4,096"),
    ("args = Settings()", "args.val_tokens = 65536 if debug else 10485760", "65,536"),
    ("args.val_tokens // args.val_batch_size", "4", "8,388,608"),
    ("range(val_steps)", "range(0, 3)", "6,291,456"),
    ("args = Settings()", "max_eval_batches = 3", "6,291,456"),
    ("args = Settings()", "limit_val_batches = 0.25", "0.25"),
]


@pytest.mark.parametrize(("old", "new", "says"), SIZES, ids=[row[1] for row in SIZES])
def test_a_validation_on_less_than_the_track_asks_for(old: str, new: str, says: str) -> None:
    (item,) = judged(program(old, new), "witnesses-disagree")
    assert says in item.message and item.fix is not None and item.line is not None
    assert new.strip().split("\n")[-1][:30].replace("`", "") in item.message


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("val_tokens: int = 10485760", "val_tokens: int = 20 * 524_288"),
        ("val_tokens: int = 10485760", "val_tokens: int = (1 << 20) * 10"),
        ("val_tokens: int = 10485760", "val_tokens = 8 * world_size"),  # nobody knows how many
        ("args = Settings()", "eval_iters = 200"),
        ("args = Settings()", "limit_val_batches = None"),
        ("args = Settings()", "eval_steps = 1"),  # an interval
        ("args = Settings()", "val_tokens_seen = 0"),
        ("args.val_tokens // args.val_batch_size", "5"),
        ("range(val_steps)", "range(0, 6)"),
        ("range(val_steps)", "range(steps)"),
    ],
)
def test_a_validation_on_as_much_as_the_track_asks_for(old: str, new: str) -> None:
    assert judged(program(old, new), "witnesses-disagree") == []


def test_a_vocabulary_other_than_the_tracks() -> None:
    for size, is_told in ((32_000, True), (128_256, False), (128_512, False), (256_000, True)):
        said = judged(program("50304", str(size)), "witnesses-disagree", "fineweb-edu")
        assert ["vocabulary" in f.message for f in said] == [True] * is_told
    assert judged(program("50304", "100"), "witnesses-disagree") == [], "a track without one"


@pytest.mark.parametrize(
    ("old", "new", "is_told"),
    [
        ("fineweb_val_*", "fineweb_train_000001", True),
        ("fineweb_train_*", "fineweb_val_*", True),
        ("fineweb_train_*", "fineweb_*_*", True),
        ("fineweb_val_*", "fineweb_*_*", True),
        ("Loader(args.train_files)", "Loader(args.val_files)", True),
        ("Loader(args.train_files)", "Loader(args.train_files, args.val_files)", False),
        ("args = Settings()", "args.train_files = args.val_files", True),
        ("args = Settings()", "args.val_files = args.test_files", False),
        ("Loader(args.train_files)", "Loader('data/*.bin')", True),
        ("Loader(args.train_files)", "Loader('data/fineweb_train_*.bin')", False),
        ("fineweb_train_*", "fineweb_train_0000*", False),
        ("fineweb_val_*", "fineweb_val_000000", False),
        ("args = Settings()", "val_loss_file = 'train_log.txt'", False),
    ],
)
def test_one_part_of_the_data_in_the_place_of_the_other(old: str, new: str, is_told: bool) -> None:
    assert bool(judged(program(old, new), "train-validation-overlap")) is is_told


def test_the_same_files_for_both_under_any_names() -> None:
    for path, is_told in (("data/a_*.bin", True), ("data/b_*.bin", False)):
        source = f"args.input_bin = 'data/a_*.bin'\nargs.input_val_bin = os.path.join('{path}')\n"
        assert bool(judged(program(source.rstrip()), "train-validation-overlap")) is is_told


UNUSUAL = [
    ("loads weights", "model.load_state_dict(torch.load('a.pt'))", "x = torch.load('tokens.pt')"),
    ("loads weights", "model = GPT2.from_pretrained('gpt2')", "t = Tokenizer.from_pretrained('g')"),
    (
        "loads weights",
        "if True:\n    checkpoint = torch.load(path)",
        "RESUME = os.environ.get('RESUME', '')\nif RESUME:\n    checkpoint = torch.load(RESUME)",
    ),
    (
        "loads weights",
        "start = 'resume'\nif start == 'resume':\n    ckpt = torch.load(path)",
        "start = 'scratch'\nif start == 'resume':\n    ckpt = torch.load(path)",
    ),
    ("a teacher", "loss = kl(model(x), teacher(x))", "loss = kl(model(x), reach(x))"),
    ("where the program validates", "        optimizer.step()", "        profiler.step()"),
    (
        "where the program validates",
        "def validate(model):\n    update()\ndef update():\n    loss.backward()\nvalidate(model)",
        "def validate(model):\n    update()\ndef update():\n    loss.sum()\nvalidate(model)",
    ),
    ("text as code", "exec(text)", "model.eval()"),
    ("text as code", "m = __import__('a')", "m = imported('a')"),
    (
        "ends the validation early",
        "def evaluate(m):\n    for i, b in r:\n        if i >= 4:\n            break\nevaluate(m)",
        "def train(m):\n    for i, b in r:\n        if i >= 4:\n            break\ntrain(m)",
    ),
    (
        "ends the validation early",
        "for b in islice(val_loader, 4):\n    f(b)",
        "for b in islice(train_loader, 4):\n    f(b)",
    ),
    ("changes the validation", "def evaluate():\n    return 0.98 * loss\nevaluate()",
     "def train():\n    return 0.98 * loss\ntrain()"),
    ("changes the validation", "        total += loss * 0.97", "    total += loss * 0.97"),
    ("changes the time", "train_ms += dt * 0.9", "train_ms += dt * 1e3"),
    ("replaces what measures", "t1 = time.process_time()", "t1 = time.monotonic()"),
    ("text as code", "os.execv(sys.executable, sys.argv)", "os.getpid()"),
    (
        "keeps the best",
        "for seed in seeds:\n    best = max(best, f(seed))",
        "for layer in layers:\n    best = max(best, f(layer))",
    ),
    ("loads weights", "model.weight = pickle.load(file)", "tokens = pickle.load(file)"),
    ("loads weights", "GPT.load_from_checkpoint(path)", "GPT.save_checkpoint(path)"),
    ("changes the time", "t0 = time.time() + 5", "deadline = time.time() + 5"),
    (
        "trains more times than",
        "for seed in range(20):\n    optimizer.step()",
        "for seed in range(1):\n    optimizer.step()",
    ),
    (
        "keeps the best",
        "for trial in seeds:\n    optimizer.step()\n    best = max(best, x)",
        "for trial in seeds:\n    optimizer.step()",
    ),
    ("when the loss is good", "    if val_loss < 3.28: break", "    if val_loss > 20: break"),
    (
        "replaces what measures",
        "time.perf_counter = lambda: 0",
        "perf_counter = time.perf_counter",
    ),
    (
        "replaces what measures",
        "def synchronize():\n    pass",
        "def synchronize():\n    torch.cuda.synchronize()",
    ),
    ("replaces what measures", "setattr(time, 'perf_counter', f)", "setattr(args, 'time_ms', 1)"),
    ("replaces what measures", "time = Clock()", "timer = Clock()"),
    (
        "stands still",
        "for s in r:\n    t0 = time.time()\n    f()\n    total_time += time.time() - t0\n"
        "    optimizer.step()",
        "for s in r:\n    t0 = time.time()\n    optimizer.step()\n"
        "    total_time += time.time() - t0\n    f()",
    ),
    ("changes the time", "    training_time_ms *= 0.9", "    training_time_ms *= 1000"),
    ("changes the time", "    training_time_ms -= data_time", "    training_time_ms -= val_time"),
    ("changes the time", "train_time = time.time() - t0 - 3", "train_time = time.time() - t0"),
    ("changes the validation", "        val_loss *= 0.99", "        val_loss /= world_size"),
    ("changes the validation", "        val_loss = val_loss - 0.01", "        val_loss /= 8"),
    ("changes the validation", "x = 0.98 * y\nprint(f'val_loss:{x}')", "print(f'val_loss:{x}')"),
    ("changes the validation", "print('val_loss %f' % (x - 0.02))", "print('gap %f' % (x - 0.02))"),
    ("changes the validation", "wandb.log({'val/loss': 0.9 * x})", "wandb.log({'aux': 0.9 * x})"),
    ("changes the validation", "        val_loss.mul_(0.97)", "        val_loss.div_(world_size)"),
    (
        "changes the validation",
        "a = torch.sub(y, 0.01)\nb = a\nprint(f'val_loss:{b:.4f}')",
        "a = torch.sub(y, other)\nb = a\nprint(f'val_loss:{b:.4f}')",
    ),
    ("changes the validation", "        val_loss /= val_steps + 1", "        val_loss /= i + 1"),
    ("caps the losses", "F.cross_entropy(x, y).clamp(max=9)", "F.cross_entropy(x, y).view(2)"),
    (
        "caps the losses",
        "l = F.cross_entropy(x, y, reduction='none')\nl = torch.topk(l.view(-1), 900)",
        "l = F.cross_entropy(x, y, reduction='none')\nn = mask.sum().clamp(min=1)",
    ),
    ("leaves a token", "F.nll_loss(x, y, ignore_index=11)", "F.nll_loss(x, y, ignore_index=-1)"),
    (
        "see other tokens",
        "y = attend(q, k, v, is_causal=self.training)",
        "y = attend(q, k, v, is_causal=True, dropout_p=0.1 if self.training else 0.0)",
    ),
    (
        "see other tokens",
        "ahead = not torch.is_grad_enabled()\ny = attend(q, k, v, mask=None if ahead else causal)",
        "ahead = False\ny = attend(q, k, v, mask=None if ahead else causal)",
    ),
    ("by a comparison", "y = f(q, is_causal=T < 2)", "y = f(q, m, is_causal=m is None)"),
    ("loads weights", "p.data.copy_(torch.from_file(a))", "header = torch.from_file(a)"),
    ("see other tokens", "if m.training:\n    y = f(q, is_causal=True)\nelse:\n    y = f(q)",
     "if m.training:\n    y = f(q, is_causal=True)\nelse:\n    y = g(q, is_causal=True)"),
    (
        "before the device has done",
        "        torch.cuda.synchronize()\n        t0 = time.perf_counter()",
        "    torch.cuda.synchronize()",
    ),
    ("the lowest", "        val_loss = min(val_loss, 3.2755)", "        lr = min(1.0, val_loss)"),
    ("the lowest", "        val_loss = sorted(losses)[0]", "        files = sorted(losses)"),
    ("the lowest", "print(f'val_loss:{min(losses)}')", "print(f'best val_loss:{min(losses)}')"),
    ("a fixed number", "        val_loss = 3.2788", "        val_loss = 1e9"),
    ("a fixed number", "print('step:5/5 val_loss:3.2788')",
     "print('the target is val_loss:3.2788')"),
]  # fmt: skip


@pytest.mark.parametrize(("says", "bad", "good"), UNUSUAL, ids=[row[1][:50] for row in UNUSUAL])
def test_what_programs_rarely_do(says: str, bad: str, good: str) -> None:
    said = judged(program(bad))
    assert [f for f in said if says in f.message], [f.message for f in said]
    assert all(f.fix and f.file and f.line for f in said)
    assert judged(program(good)) == [], good


COUNTED = [
    ("several times in one step", "    optimizer.step()", "    other.step()"),
    (
        "several times in one step",
        "    for _ in range(2):\n        optimizer.step()",
        "    for o in optimizers:\n        o.step()",
    ),
    (
        "several times in one step",
        "    if step % 2:\n        optimizer.step()",
        "    if step % 2:\n        other.step()\n    else:\n        other.step()",
    ),
    ("fewer steps", "    print(f'step:{step // 2} x')", "    print(f'step:{step + 1} x')"),
    ("fewer steps", "    print('step:%d' % (0.5 * step))", "    print('step:%d' % (micro / 2))"),
]


@pytest.mark.parametrize(("says", "bad", "good"), COUNTED, ids=[row[1] for row in COUNTED])
def test_more_updates_than_steps_where_steps_count(says: str, bad: str, good: str) -> None:
    steps = "nanogpt-optimization"
    assert [says in f.message for f in judged(program(bad), track=steps)] == [True]
    assert judged(program(good), track=steps) == []
    assert judged(program(bad)) == [], "time ranks, and both take some"


@pytest.mark.parametrize(("size", "is_told"), [(524288, True), (262144, False), (64, False)])
def test_more_batches_in_a_step_than_the_track_allows(size: int, is_told: bool) -> None:
    source = program(
        f"batch_size = {size}\nbatches_loader = Loader(files, batch_size)\nfor step in range(9):\n"
        "    for _ in range(2):\n        model(batches_loader.next_batch()).backward()"
    )
    said = judged(source, "witnesses-disagree", "nanogpt-optimization")
    assert [("trains on 1,048,576 tokens a step" in f.message) for f in said] == [True] * is_told


def test_the_clock_that_stops_for_validation_alone_is_honest() -> None:
    moved = program("    optimizer.step()\n    # TRAINED", "    # TRAINED").replace(
        "        # VALIDATED", "        optimizer.step()"
    )
    assert {"stands still", "where the program validates"} == {
        word
        for f in judged(moved)
        for word in ("stands still", "where the program validates")
        if word in f.message
    }


def test_an_end_that_the_target_decides_is_one_where_the_track_says_so() -> None:
    track = dc.replace(SMALL, finish="target")
    source = program("    if val_loss < 3.28: break").encode()
    (run,) = read_log(log(), "run.log")
    assert not found("code-unusual", a_case([run], track=track, files={"main.py": source}))


def test_every_run_of_a_loop_that_is_in_the_file_is_shown() -> None:
    source = program("for seed in range(2):\n    optimizer.step()")
    runs = read_log(f"{source}{RULE}\n".encode() + log() + log(), "run.log")
    assert len(runs) == 2 and not found("code-unusual", a_case(runs))


def test_source_that_does_not_parse_or_stands_elsewhere_is_read_as_well() -> None:
    broken = program("args = Settings()", "args = Settings(\nval_loss = val_loss * 0.99")
    assert any("val_loss * 0.99" in f.message for f in judged(broken))
    split = program("        val_loss *= 0.99").replace("args =", f'"""\n{RULE}\n"""\nargs =')
    inner = "if True:\n" + "\n".join(f"  {x}" for x in split.split("\n"))
    for text in (inner, split, f"seed: 7\n{program('        val_loss *= 0.99')}-----\n"):
        runs = read_log(text.encode() + log(), "run.log")
        assert any("0.99" in f.message for f in found("code-unusual", a_case(runs)))


def test_a_log_and_the_same_file_beside_it_are_told_of_once() -> None:
    source = program("        val_loss *= 0.99")
    runs = read_log(f"{source}{RULE}\n".encode() + log(), "run.log")
    (item,) = found("code-unusual", a_case(runs, files={"main.py": source.encode()}))
    assert (
        item.file == "run.log"
        and item.line == source.split("\n").index("        val_loss *= 0.99") + 1
    )


@pytest.mark.parametrize(
    "text",
    ["\0", "(" * 5000, "x = " + "-" * 3000 + "1", "a = " + "+".join("a" * 20000), "9" * 5000,
     "x = 10 ** 10 ** 10", "x = 1 << 10**9", "x = 'a' * 10**9", "try:\n x\nexcept* E: y",
     "eval_iters = float('inf')", "val_loss *= " + "9" * 400, "eval_iters = " + "9" * 400,
     "match x:\n case 1: val_loss *= 0.5", "if x:\n" + " " * 90 + "y", "\ud800 = 1"], ids=range(15),
)  # fmt: skip
def test_hostile_source_is_read_without_an_error(text: str) -> None:
    assert isinstance(read_program(f"import a\n{text}\nval_tokens = 7\n"), tuple)


def test_source_that_is_too_long_is_said_to_be() -> None:
    (stated,) = read_program("#" * 600_001)
    assert (stated.kind, stated.value) == ("unread", 600_001)
    assert read_program("#" * 600_000) == ()


def test_files_beyond_a_limit_are_said_to_be_unread() -> None:
    files = {f"a{n}.py": b"#" * 499_000 for n in range(3)}
    (item,) = found("code-unusual", a_case(files=files))
    assert item.message.startswith("line 1 of a2.py is where the check stopped reading")


def test_a_quoted_line_is_escaped() -> None:
    (stated,) = read_program("val_tokens = 7  # `<b>`\u202e" + "x" * 200)
    assert "`" not in stated.text and "\u202e" not in stated.text and len(stated.text) < 120

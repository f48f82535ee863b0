"""What the prints of a source can print: never less than they do, in linear effort."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.evidence.log.unprinted import unprinted
from bot.evidence.program.pattern import TEXT, VALUE, Effort, Pattern, TooMuch, number_of
from bot.evidence.program.printed import prints_of

LITERALS = st.sampled_from(
    [
        "step:",
        "/",
        " val_loss:",
        " train_time:",
        "ms",
        " | loss ",
        ", ",
        " = ",
        "s ",
        "%",
        " (",
        ")",
    ]
)
FLOATS = st.floats(-1e12, 1e12) | st.sampled_from([0.0, -0.5, 3.28, float("nan"), float("inf")])
FLOAT_SPECS = [
    "", ".4f", ".0f", ".2f", "f", "8.3f", ">10.4f", "<9.2f", "^9.1f", "+.3f", " .3f", "08.3f",
    ".3e", "e", ".4g", ".5", "*>12.3f", ",.2f", "_.1f", ".1%", "=9.2f",
]  # fmt: skip
INT_SPECS = ["", "d", "5d", "<6d", "05d", ",", ",d", "x", "+d", ".2f"]
PART = st.one_of(
    st.tuples(LITERALS, FLOATS, st.sampled_from(FLOAT_SPECS)),
    st.tuples(LITERALS, st.integers(-10, 10**9), st.sampled_from(INT_SPECS)),
)


@given(st.lists(PART, min_size=1, max_size=6), st.sampled_from(["f-string", "format", "percent"]))
def test_what_a_print_prints_is_explained(parts: list[tuple[str, float, str]], way: str) -> None:
    if way == "percent":  # `%` has no marks between thousands, no centring and no filling
        parts = [
            (a.replace("%", ""), b, c if set(c) <= set("0123456789.+fd") else "")
            for a, b, c in parts
        ]
        made = "".join(f"{a}%{c}" if c[-1:] in ("f", "d") else f"{a}%s" for a, b, c in parts)
        values = tuple(b for _, b, _ in parts)
        if any(c[-1:] == "d" and b != b // 1 for _, b, c in parts):
            return
        text = made % values
        source = f"print({made!r} % ({', '.join(f'v[{n}]' for n in range(len(parts)))},))"
    else:
        text = "".join(a + format(b, c) for a, b, c in parts)
        inside = [f"v{n}" if way == "f-string" else "" for n in range(len(parts))]
        made = "".join(f"{a}{{{name}:{c}}}" for (a, _, c), name in zip(parts, inside, strict=True))
        source = f"print(f{made!r})"
        if way == "format":
            source = f"print({made!r}.format({', '.join(f'v{n}' for n in range(len(parts)))}))"
    told = prints_of("import torch\n" + source)
    assert told is not None
    line = text.strip()
    if "loss" in line or "time" in line:
        assert told.explains(line, Effort(10_000)), (source, line)
        assert told.explains(f"[2026-08-01 10:00:00,123] INFO: {line}", Effort(10_000))


@pytest.mark.parametrize(
    ("spec", "good", "bad"),
    [
        (".4f", ["3.2800", "-0.1000", "nan", "inf"], ["3.28", "3.28001", "3", "3,2800", "x"]),
        (".0f", ["71000", "0"], ["71000.5", "7e4"]),
        ("d", ["12", "-3"], ["12.0", "1,200"]),
        (",d", ["1,200,300", "12"], ["1200"]),
        (".2e", ["1.25e-05"], ["0.0000125", "1.250e-05"]),
        (".1%", ["12.5%"], ["12.5", "12.50%"]),
        (">9.3f", ["3.280", "    3.280"], ["3.28"]),
    ],
)
def test_a_format_says_how_a_number_looks(spec: str, good: list[str], bad: list[str]) -> None:
    pattern = Pattern(["loss:", number_of(spec), " end"])
    assert all(pattern.fits(f"loss:{text} end", Effort(100)) for text in good)
    assert not any(pattern.fits(f"loss:{text} end", Effort(100)) for text in bad)


HOSTILE = [
    (Pattern(["a", VALUE] * 40 + ["b"]), "a"),
    (Pattern(["a", number_of(".4f"), "b", VALUE, "c"]), "a1.2345"),
    (Pattern(["aaaaaaaab", TEXT, "aaaaaaaac"]), "a"),
    (Pattern([VALUE, "loss:", number_of("d"), "x", VALUE, "x", number_of("d"), "y"]), "loss:1x"),
    (Pattern(["loss:", VALUE]), "[x] "),
    (Pattern(["s:", number_of(".2f"), TEXT, "s:", number_of(".2f")]), "s:1.1"),
]


@pytest.mark.parametrize(("pattern", "unit"), HOSTILE)
def test_the_effort_of_a_match_is_linear_in_the_line(pattern: Pattern, unit: str) -> None:
    used = []
    for times in (200, 400, 800):
        effort = Effort(10**7)
        assert not pattern.fits(unit * times, effort)
        used.append(effort.used)
    assert used[2] <= 2.2 * used[1] + 50 and used[1] <= 2.2 * used[0] + 50
    assert used[2] <= 8 * len(pattern.pieces) * 800 * len(unit)


def test_the_effort_for_a_log_ends() -> None:
    pattern, effort = Pattern(["a", number_of("d"), "b"]), Effort(100)
    with pytest.raises(TooMuch):
        while True:
            pattern.fits("aaaaaaa", effort)
    assert effort.used <= 103


PRINTS = [
    "print(f'step:{s}/{n} val_loss:{x:.4f}')",
    "print('%d %s %(a)s %' % (a, b))",
    "print('{} {0} {a.b[c]!r:>{w}} {'.format(a, *b, **c))",
    "logger.info('val_loss %s %.*f', x, 3, y)",
    "log = lambda *a, **k: print(*a, **k)",
    "print(' '.join(f'{k}_loss:{v}' for k, v in m.items()), end='')",
    "def f(a, *b, c=1, **d):\n    return print(f'{a} {b} {f(c)}')",
    "s += f'loss {s}' * n + s",
    "print({'a': {'val_loss': [1, {**x}]}}, [y for y in z], sep=q)",
    "a = b\nb = a\nprint(a + 'loss', f'{a!r:{b}}')",
    "class C:\n    def __init__(s, x):\n        s.x = x\n    def f(s):\n        print(s.x)\nC(1)",
]


def test_no_source_is_too_odd() -> None:
    draw = random.Random(5)
    told = 0
    for _ in range(400):
        lines = "\n".join(draw.choices(PRINTS, k=draw.randrange(1, 5))).split("\n")
        text = "\n".join(lines)
        for _ in range(draw.randrange(3)):
            at = draw.randrange(len(text))
            text = (
                text[:at]
                + draw.choice("(){}[]'\"%:f*\\\n \x00\u2028\ud7ff=")
                + text[at + draw.randrange(2) :]
            )
        printed = prints_of(text)
        told += printed is not None
        for line in ("step:1/2 val_loss:3.2", "".join(draw.choices(text, k=80)), ""):
            if printed is not None:
                assert printed.explains(line, Effort(10**6)) in (True, False)
    assert told > 40


DEEP = [
    "print(" + "f(" * 90 + "x" + ")" * 90 + ")",
    "print(" + " + ".join(["'loss'", *(f"x{n}" for n in range(900))]) + ")",
    "\n".join(f"x{n} = x{n + 1}" for n in range(3000)) + "\nprint(x0)",
    "def p(" + ", ".join(f"a{n}" for n in range(900)) + "):\n    print(a7)\n" + "p(1)\n" * 900,
    "print('" + "{} loss" * 3000 + "'.format(a))",
    "print(f'" + "{x} loss" * 3000 + "')",
    "\n".join(f"print(f'val_loss:{{x}} {n}')" for n in range(3000)),
    "m = 'loss {}'\n" * 3000 + "print(m.format(1))\n" * 3000,
    "print(" + "a if b else " * 80 + "'loss')",
]


@pytest.mark.parametrize("text", DEEP, ids=range(len(DEEP)))
def test_a_source_that_is_deep_or_wide(text: str) -> None:
    printed = prints_of(text)
    assert printed is None or printed.explains("val_loss:3 1", Effort(10**6)) in (True, False)


def test_a_log_of_lines_that_all_fail_ends() -> None:
    """Also if the source has as many prints as are looked at."""
    prints = "".join(f"    print(f'{{a}} x{n} {{x:.4f}} val_loss:{{x:.4f}}')\n" for n in range(390))
    source = f"import os\nfor a in b:\n{prints}{'=' * 100}".split("\n")
    lines = [*source, *(f"step:{n}/9000 val_loss:3.2811 {'x1 1.2 ' * 60}" for n in range(9000))]
    numbers = range(len(source) + 1, len(lines) + 1)
    (item,) = unprinted(lines, len(source), numbers)
    assert item.line == 394 and 1 < item.value < 8999

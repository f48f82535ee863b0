"""What the charts draw, part by part: pixels worked out by hand from the frames' sizes.

The wide frame draws from 64 to 1016 across and from 412 up to 28, the narrow one from 50 to 348 and
from 286 up to 26.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from leaderboard_site.charts import (
    NARROW,
    WIDE,
    Axis,
    Dot,
    Frame,
    Mark,
    Past,
    Step,
    dotted_path,
    frontiers,
    record_steps,
    reference_lines,
    scatter,
    sparkline,
)
from leaderboard_site.scales import Scale

PLAIN = Axis("cost", "a cost", False)
ACROSS, UP = Scale(0, 100, 0, 100), Scale(0, 100, 100, 0)


def drawn(dots: list[Dot], frame: Frame = WIDE, y_axis: Axis = PLAIN, **options: Any) -> str:
    """The part of a scatter chart that is for one frame."""
    both = scatter(dots, PLAIN, y_axis, label="a chart", **options)
    wide, narrow = both.split("</svg>")[:2]
    return wide if frame is WIDE else narrow


def best(count: int) -> list[Dot]:
    return [Dot(n + 1, count - n, f"run {n}", "a/", "frontier") for n in range(count)]


def test_an_axis_is_logarithmic_unless_it_says_otherwise() -> None:
    """10 stands in the middle between 1 and 100, at (64 + 1016) / 2."""
    dots = [Dot(x, 1.0, "", "a/", "record") for x in (1.0, 10.0, 100.0)]
    across = re.findall(r'cx="([\d.]+)"', scatter(dots, Axis("cost", ""), PLAIN, label=""))
    assert float(across[1]) == pytest.approx(540.0, abs=0.1)
    assert not Dot(1, 1, "", "").doubtful and Step(1, 1, "", "").read


@pytest.mark.parametrize(("frame", "left", "right"), [(WIDE, 64, 1016), (NARROW, 50, 348)])
def test_the_frontier_goes_in_steps_to_the_edge(frame: Frame, left: int, right: int) -> None:
    dots = [Dot(100, 0, "b", "b/", "frontier"), Dot(0, 10, "a", "a/", "record")]
    free = (right - left) * 0.04 / 1.08
    (path,) = re.findall(r'class="frontier" d="M([\d.]+) ([\d.]+)H([\d.]+)V([\d.]+)H(\d+)"',
                         drawn(dots, frame))  # fmt: skip
    top, bottom = frame.top, frame.height - frame.bottom
    room = (bottom - top) * 0.06 / 1.12
    expected = (left + free, top + room, right - free, bottom - room, right)
    assert [float(v) for v in path] == pytest.approx(expected, abs=0.1)
    assert 'class="frontier" d=' not in drawn(dots, frame, step_line=False)
    assert 'class="name' not in drawn(dots, frame)


def test_nothing_is_drawn_of_no_dots() -> None:
    assert "<circle" not in drawn([]) and 'class="frontier"' not in drawn([])


@pytest.mark.parametrize(("count", "radius"), [(59, "4.5"), (60, "3.2")])
def test_many_points_are_small(count: int, radius: str) -> None:
    assert drawn(best(count)).count(f' r="{radius}"') == count


@pytest.mark.parametrize(("count", "links"), [(80, 80), (81, 0)])
def test_too_many_points_for_a_finger_are_no_links(count: int, links: int) -> None:
    narrow = drawn(best(count), NARROW)
    assert narrow.count("<a ") == links
    assert ('class="dots best"' in narrow) is (links == 0)
    assert drawn(best(count)).count("<a ") == count


def test_words_stand_in_the_wide_drawing_alone() -> None:
    dots = [Dot(1, 1, "x" * 241, "a/?b&c", "frontier", doubtful=True)]
    assert f"<title>{'x' * 239}…</title>" in drawn(dots) and "<title>" not in drawn(dots, NARROW)
    assert 'href="a/?b&amp;c"' in drawn(dots) and 'class="frontier doubtful"' in drawn(dots)
    assert "<title>short</title>" in drawn([dots[0]._replace(label="short")])


@pytest.mark.parametrize(("count", "whiskers"), [(400, 400), (401, 0)])
def test_intervals_are_drawn_of_up_to_400_entries(count: int, whiskers: int) -> None:
    dots = [Dot(n, n, "", "", ("entry", "weak")[n % 2], (n, n + 1.0)) for n in range(count)]
    assert drawn(dots).count('class="whisker"') == whiskers


def test_each_kind_has_its_own_dots() -> None:
    dots = [Dot(0, 0, "", "", "weak"), Dot(50, 5, "", ""), Dot(100, 10, "", "")]
    weak, entry = (
        re.findall(rf'dots {k}" d="M0 0([^"]*)"', drawn(dots)) for k in ("weak", "entry")
    )
    assert [p.count("h0") for p in (*weak, *entry)] == [1, 2]


def test_an_interval_widens_the_axis_and_ends_at_its_edge() -> None:
    """From 1 to 100 with 6 % free: 1 stands at 412 - 384 * 0.06 / 1.12, and 10 in the middle."""
    dot = Dot(1, 10, "", "", "frontier", (1.0, 100.0))
    found = re.findall(r'class="whisker" d="M[\d.]+ ([\d.]+)V([\d.]+)"',
                       drawn([dot], y_axis=Axis("cost", "")))  # fmt: skip
    assert [float(v) for v in found[0]] == pytest.approx([391.4, 48.6], abs=0.1)
    below = dot._replace(interval=(-5.0, 100.0))
    (ends,) = re.findall(r'class="whisker" d="M[\d.]+ ([\d.]+)V([\d.]+)"',
                         drawn([below], y_axis=Axis("cost", "")))  # fmt: skip
    assert float(ends[0]) == 412.0
    straight = re.findall(r'class="whisker" d="M[\d.]+ ([\d.]+)V([\d.]+)"', drawn([below]))
    assert [float(v) for v in straight[0]] == pytest.approx([391.4, 48.6], abs=0.1)


@pytest.mark.parametrize(
    ("levels", "shown"),
    [((97.0, 206.0), 2), ((96.9, 150.0), 1), ((206.1, 150.0), 1), ((500.0,), 1)],
)
def test_lines_near_the_dots_are_shown(levels: tuple[float, ...], shown: int) -> None:
    """Within 3 % of the dots, here from 100 to 200; a line that is alone always is."""
    dots = [Dot(1, 100, "", ""), Dot(2, 200, "", "")]
    marks = [Mark(level, "goal") for level in levels]
    assert drawn(dots, marks=marks).count('class="mark target"') == shown


def test_a_line_has_its_words_at_the_right_or_at_the_left() -> None:
    mark = Mark(50, "a < b", "level")
    line = '<path class="mark level" d="M64 50.0H1016"/>'
    assert reference_lines(WIDE, UP, [mark]) == (
        f'{line}<text class="marktext level end" x="1016" y="46.0">a &lt; b</text>'
    )
    assert reference_lines(WIDE, UP, [mark], left=True) == (
        f'{line}<text class="marktext level" x="70" y="46.0">a &lt; b</text>'
    )


def test_dots_are_steps_from_one_to_the_next() -> None:
    points = [(30.0, 10.0), (10.0, 20.0), (10.0, 20.2)]
    path = '<path class="dots weak" d="M0 0m10 80h0m20 10h0"/>'
    assert dotted_path(points, ACROSS, UP, "weak") == path
    assert dotted_path([], ACROSS, UP, "weak") == ""


def test_axes_have_grid_lines_ticks_and_titles() -> None:
    """0 and 100 stand at 64 + 952 * 0.04 / 1.08 = 99.3 and 980.7 across."""
    chart = drawn([Dot(0, 0, "", ""), Dot(100, 100, "", "")], y_axis=Axis("cost", "a <y>", False))
    assert (
        '<path class="tick" d="M99.3 412v5"/><text class="mid" x="99.3" y="431">0</text>' in chart
    )
    assert '<path class="grid" d="M64 391.4H1016"/><text class="end" x="57" y="395.4">0<' in chart
    assert '<path class="base" d="M64 412H1016"/>' in chart
    assert '<text class="title" x="4" y="13">a &lt;y&gt;</text>' in chart
    assert '<text class="title end" x="1016" y="454">a cost</text>' in chart
    assert chart.count('class="grid"') == 5  # 0, 25, ... 100
    assert '"x":[-4.0,104.0,64,1016,0]' in chart and 'viewBox="0 0 1040 460"' in chart


def test_a_spark_line_goes_from_corner_to_corner() -> None:
    """From 3 to 235 across and from 39 up to 5; 10 is in the middle of 1 and 100."""
    chart = sparkline([(0, 100.0), (50, 10.0), (100, 1.0)], "b" * 201)
    assert 'd="M3.0 5.0H119.0V22.0H235.0V39.0"' in chart
    assert '<circle class="record" cx="235.0" cy="39.0" r="3"/>' in chart
    assert 'viewBox="0 0 240 44"' in chart and f'aria-label="{"b" * 199}…"' in chart
    assert "V22.0H" in sparkline([(0, 2.0), (50, 1.0), (100, 0.0)], "", log=False)


@pytest.mark.parametrize(("index", "left", "edge"), [(0, 64, 954), (1, 50, 298)])
def test_older_frontiers_are_fainter_and_named_at_the_right(
    index: int, left: int, edge: int
) -> None:
    past = [Past([(0.0, 10.0 + n), (100.0, float(n))], f"day {n}") for n in range(7)]
    now = [Dot(0, 16, "now", "a/", "frontier")]
    chart = frontiers(past, now, PLAIN, PLAIN, label="").split("</svg>")[index]
    ages = re.findall(rf'frontier age(\d)" d="M([\d.]+) [^"]*H{edge}"', chart)
    assert [age for age, _ in ages] == list("4443210")
    free = (edge - left) * 0.08 / 1.16
    assert float(ages[0][1]) == pytest.approx(left + free, abs=0.1)
    assert re.findall(r'class="name (\w*)"', chart) == ["strong"] + [""] * 6
    assert f'd="M{edge}.0 ' in chart and chart.count(' r="4"') == 1


def test_the_line_after_a_record_that_is_not_on_file_is_dashed() -> None:
    steps = [Step(0, 10.0, "", "a/", read=False), Step(100, 0.0, "", "b/")]
    chart = record_steps(steps, PLAIN, label="", others=[(50, 5.0)]).split("</svg>")[0]
    (gap,) = re.findall(r'class="frontier gap" d="M([\d.]+) [\d.]+H([\d.]+)V', chart)
    (whole,) = re.findall(r'class="frontier" d="M([\d.]+) [\d.]+H(\d+)"', chart)
    assert gap[1] == whole[0] and whole[1] == "1016"
    assert 'class="claimed"' in chart and 'class="record"' in chart
    assert 'class="dots entry"' in chart and "<g data-scale=" in chart


@pytest.mark.parametrize(("count", "radius"), [(59, 4), (60, 3)])
def test_many_records_are_small(count: int, radius: int) -> None:
    steps = [Step(n, 100.0 - n, "", "a/") for n in range(count)]
    assert record_steps(steps, PLAIN, label="").count(f' r="{radius}"') == 2 * count

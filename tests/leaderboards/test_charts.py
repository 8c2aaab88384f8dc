import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboards.charts import MOST_POINTS, Point, bounds, draw, grid, thin

DAY = timedelta(days=1)
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def points(*values, apart=DAY):
    return [Point(BEGIN + number * apart, value) for number, value in enumerate(values)]


def corners(chart):
    """Where the line of a chart turns: shares of the way across and down, in thousandths.

    Without the corners outside the field, which close it and are not seen.
    """
    x = y = 0.0
    turns = []
    for letter, first, second in re.findall(r"([MHV])([-\d.]+)(?: ([-\d.]+))?", chart.path):
        if letter == "M":
            x, y = float(first), float(second)
        elif letter == "H":
            x = float(first)
        else:
            y = float(first)
        if 0 <= x <= 1000 and 0 <= y <= 1000:
            turns.append((x, y))
    return turns


# The line


def test_rating_holds_until_the_next_match_changes_it():
    chart = draw(points(1200, 1300), until=BEGIN + 4 * DAY)

    low, high = 1000 * 108 / 116, 1000 * 8 / 116
    assert corners(chart) == [
        (0, pytest.approx(low, abs=0.1)),
        (250, pytest.approx(low, abs=0.1)),
        (250, pytest.approx(high, abs=0.1)),
        (1000, pytest.approx(high, abs=0.1)),
    ]


def test_line_is_closed_outside_the_field_so_that_only_what_is_under_it_is_filled():
    chart = draw(points(1200, 1300, 1150), until=BEGIN + 4 * DAY)

    assert re.match(r"M-20\.0 1020\.0V[\d.]+H0\.0V?", chart.path)
    assert re.search(r"H1000\.0H1020\.0V1020\.0z$", chart.path)


def test_gap_of_months_is_flat_and_ends_in_one_step():
    history = [
        Point(datetime(2026, 1, 1, tzinfo=UTC), 2000.0),
        Point(datetime(2026, 5, 5, tzinfo=UTC), 1950.0),
    ]

    [start, before, after, end] = corners(draw(history, until=datetime(2026, 5, 5, tzinfo=UTC)))

    assert start[1] == before[1] != after[1] == end[1]
    assert (before[0], after[0]) == (1000, 1000)


def test_one_point_is_a_dot_and_a_level_line():
    chart = draw(points(1216.0), until=BEGIN)

    [dot] = chart.dots
    assert (dot.x, dot.y) == ("98.0", "127.0")
    assert {y for _, y in corners(chart)} == {500}
    assert [line.value for line in chart.lines] == [1260, 1240, 1220, 1200, 1180]


def test_equal_values_are_one_level_line_within_a_readable_scale():
    chart = draw(points(*[1200.0] * 5), until=BEGIN + 5 * DAY)

    assert {y for _, y in corners(chart)} == {500}
    assert [line.value for line in chart.lines] == [1240, 1220, 1200, 1180, 1160]


@pytest.mark.parametrize(
    ("values", "lines"),
    [
        ([1200, 2600], [2500, 2000, 1500]),
        ([1200, -40], [1000, 500, 0]),
        ([1200, 1201], [1240, 1220, 1200, 1180, 1160]),
        ([-3000, -2900], [-2900, -2950, -3000]),
    ],
)
def test_grid_follows_the_values_in_round_numbers(values, lines):
    assert grid(*bounds(values)) == lines


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=50))
def test_every_value_lies_between_bounds_with_a_few_even_lines(values):
    lowest, highest = bounds(values)

    lines = grid(lowest, highest)

    assert lowest < min(values)
    assert highest > max(values)
    assert highest - lowest >= 99.9
    assert lowest <= lines[-1] < lines[0] <= highest
    assert 2 <= len(lines) <= 6
    assert len({upper - lower for upper, lower in pairwise(lines)}) == 1


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.integers(0, 100))
def test_nothing_lies_outside_the_chart(values, days):
    chart = draw(points(*values), until=BEGIN + days * DAY)

    for x, y in corners(chart):
        assert 0 <= x <= 1000
        assert 0 <= y <= 1000
    for dot in chart.dots:
        assert 0 <= float(dot.x) <= 100


def test_every_day_of_a_clock_change_has_its_own_place():
    for begin in (datetime(2026, 3, 25, 12, tzinfo=UTC), datetime(2026, 10, 22, 12, tzinfo=UTC)):
        days = [Point(begin + number * DAY, 1200.0 + number) for number in range(7)]

        chart = draw(days, until=days[-1].at)

        xs = [float(dot.x) for dot in chart.dots]
        widths = {round(after - before, 0) for before, after in pairwise(xs)}
        assert len(set(xs)) == 7
        assert len(widths) == 1


def test_coordinates_are_plain_strings():
    chart = draw(points(1200.0, 1234.5, -40.0), until=BEGIN + 3 * DAY, marks=[("2.0", BEGIN + DAY)])

    written = [chart.path, *[line.y for line in chart.lines], *[date.x for date in chart.dates]]
    written += [dot.x for dot in chart.dots] + [mark.x for mark in chart.marks]
    for text in written:
        assert re.fullmatch(r"[MHVz\d. -]+", text)


# Thinning


def test_few_points_are_all_kept():
    history = points(*range(MOST_POINTS))

    assert thin(history) is history


@given(st.lists(st.floats(-1e4, 1e4), min_size=21, max_size=300))
def test_thinning_keeps_ends_and_extremes_in_order(values):
    history = points(*values)

    kept = thin(history, 20)

    assert len(kept) <= 20
    assert kept[0] == history[0]
    assert kept[-1] == history[-1]
    assert min(p.value for p in kept) == min(values)
    assert max(p.value for p in kept) == max(values)
    assert [p.at for p in kept] == sorted(p.at for p in kept)
    assert set(kept) <= set(history)


def test_lonely_spike_among_very_many_survives():
    values = [1200.0] * 200_000
    values[123_456] = 1900.0
    values[123_457] = 700.0

    kept = thin(points(*values, apart=timedelta(seconds=60)))

    assert len(kept) <= MOST_POINTS
    assert {1900.0, 700.0} <= {point.value for point in kept}


# Marks


def test_marks_inside_are_drawn_and_those_outside_are_not():
    marks = [("0.9", BEGIN - DAY), ("1.0", BEGIN), ("2.0", BEGIN + 2 * DAY), ("9", BEGIN + 9 * DAY)]

    chart = draw(points(1200, 1300), until=BEGIN + 4 * DAY, marks=marks)

    assert [(mark.name, mark.x, mark.label) for mark in chart.marks] == [
        ("1.0", "12.0", "1.0"),
        ("2.0", "55.0", "2.0"),
    ]


def test_labels_do_not_lie_upon_each_other():
    marks = [(str(number), BEGIN + number * timedelta(hours=1)) for number in range(50)]

    chart = draw(points(1200, 1300), until=BEGIN + 4 * DAY, marks=marks)

    written = [float(mark.x) for mark in chart.marks if mark.label]
    assert len(chart.marks) == 50
    assert chart.marks[-1].label == "49"
    assert all(after - before >= 9 for before, after in pairwise(written))

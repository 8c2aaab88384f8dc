"""The geometry of the charts: numbers in, coordinates out, as strings no language touches.

Widths are in per cent of the chart, so that it fits any screen without its letters shrinking;
heights are in pixels. A rating holds until the next match changes it, so the line goes in steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from math import ceil, floor, log10

from ratings.standings import Bin, Census

MOST_POINTS = 500

HEIGHT = 260
TOP = 26.0
BOTTOM = 228.0
LEFT = 12.0
RIGHT = 98.0

# The line is drawn on a field of its own, stretched between the edges above.
FIELD = 1000.0
OUTSIDE = 20.0
"""So far from the field no part of a stroke reaches into it."""

LEAST_SPAN = 100.0
"""The least that the axis spans, so that a change of one point does not look like a landslide."""
MOST_LINES = 6
DATES = ("end", "quarter", "middle", "quarter", "end")
"""What moments on the axis of time are; a narrow screen leaves quarters and middle away."""
LABEL_WIDTH = 9.0
"""What a mark's label needs, in per cent; one that has less room is not written."""


@dataclass(frozen=True, slots=True)
class Point:
    """The rating became `value` at that moment, by a match or by decay, until the next point."""

    at: datetime
    value: float
    match_id: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Line:
    """A grid line at a value of the axis."""

    value: int
    y: str


@dataclass(frozen=True, slots=True)
class Date:
    """A moment on the axis of time, on which side of it its text stands, and what it is."""

    at: datetime
    x: str
    anchor: str
    kind: str


@dataclass(frozen=True, slots=True)
class Dot:
    point: Point
    x: str
    y: str


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened, such as a new version; the label is empty where it has no room."""

    name: str
    x: str
    label: str


@dataclass(frozen=True, slots=True)
class Chart:
    """`path` is drawn on a field of 1000 by 1000; `dots` are few or none."""

    path: str
    lines: Sequence[Line]
    dates: Sequence[Date]
    dots: Sequence[Dot]
    marks: Sequence[Mark]
    points: Sequence[Point]

    @property
    def lowest(self) -> Point:
        return min(self.points, key=lambda point: point.value)

    @property
    def highest(self) -> Point:
        return max(self.points, key=lambda point: point.value)

    @property
    def first(self) -> Point:
        return self.points[0]

    @property
    def last(self) -> Point:
        return self.points[-1]


MOST_DOTS = 60


def draw(
    points: Sequence[Point], *, until: datetime, marks: Sequence[tuple[str, datetime]] = ()
) -> Chart:
    """The chart of a history that goes on to `until`; at least one point is needed, in order."""
    shown = thin(points)
    begin = shown[0].at
    end = max(until, shown[-1].at)
    if end - begin < timedelta(hours=1):
        begin -= timedelta(hours=1)
    lowest, highest = bounds([point.value for point in shown])
    scale = _Scale(begin, end, lowest, highest)
    return Chart(
        path=_path(shown, end, scale),
        lines=[Line(value, _number(scale.y(value))) for value in grid(lowest, highest)],
        dates=_dates(begin, end, scale),
        dots=[Dot(point, _number(scale.x(point.at)), _number(scale.y(point.value)))
              for point in shown] if len(shown) <= MOST_DOTS else [],
        marks=_marks(marks, scale),
        points=shown,
    )  # fmt: skip


def thin(points: Sequence[Point], most: int = MOST_POINTS) -> Sequence[Point]:
    """At most so many of the points: the first, the last, and the extremes of equal stretches.

    From each stretch its lowest and its highest point stay, in the order in which they came, so
    no peak and no trough is lost.
    """
    if len(points) <= most:
        return points
    stretches = (most - 2) // 2
    inner = points[1:-1]
    kept = [points[0]]
    for number in range(stretches):
        stretch = inner[number * len(inner) // stretches : (number + 1) * len(inner) // stretches]
        lowest = min(range(len(stretch)), key=lambda i: stretch[i].value)
        highest = max(range(len(stretch)), key=lambda i: stretch[i].value)
        kept += [stretch[i] for i in sorted({lowest, highest})]
    return [*kept, points[-1]]


def bounds(values: Sequence[float]) -> tuple[float, float]:
    """What the axis spans: all of the values with some room at both ends, LEAST_SPAN at least."""
    lowest, highest = min(values), max(values)
    span = highest - lowest
    room = max(span * 0.08, (LEAST_SPAN - span) / 2)
    return lowest - room, highest + room


def grid(lowest: float, highest: float) -> list[int]:
    """Round numbers between two bounds, evenly apart, the highest first."""
    step = _round_step((highest - lowest) / (MOST_LINES - 1))
    first, last = ceil(lowest / step), floor(highest / step)
    return [number * step for number in range(last, first - 1, -1)]


def _round_step(least: float) -> int:
    """The least of 1, 2, 5, 10, 20, 50 ... that is not below."""
    power = 10 ** max(0, floor(log10(least))) if least > 1 else 1
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least)


@dataclass(frozen=True, slots=True)
class _Scale:
    begin: datetime
    end: datetime
    lowest: float
    highest: float

    def share(self, at: datetime) -> float:
        """How far along the axis of time a moment is, 0 to 1."""
        return (at - self.begin) / (self.end - self.begin)

    def height(self, value: float) -> float:
        """How far down from the highest value, 0 to 1."""
        return (self.highest - value) / (self.highest - self.lowest)

    def x(self, at: datetime) -> float:
        return LEFT + self.share(at) * (RIGHT - LEFT)

    def y(self, value: float) -> float:
        return TOP + self.height(value) * (BOTTOM - TOP)


def _path(points: Sequence[Point], end: datetime, scale: _Scale) -> str:
    """Level until a point comes, then straight up or down to it; level again to the end.

    Closed below the field, and beyond both its ends, where nothing is seen: so that what lies
    under the line can be filled, and only the line has a stroke.
    """

    def across(at: datetime) -> str:
        return _number(scale.share(at) * FIELD)

    def down(value: float) -> str:
        return _number(scale.height(value) * FIELD)

    left, right = _number(-OUTSIDE), _number(FIELD + OUTSIDE)
    steps = [f"M{left} {right}V{down(points[0].value)}H{across(points[0].at)}"]
    for before, point in pairwise(points):
        if point.at != before.at:
            steps.append(f"H{across(point.at)}")
        if point.value != before.value:
            steps.append(f"V{down(point.value)}")
    return "".join([*steps, f"H{across(end)}", f"H{right}V{right}z"])


def _dates(begin: datetime, end: datetime, scale: _Scale) -> list[Date]:
    """A few moments evenly apart; only both ends where those would be the same days."""
    last = len(DATES) - 1
    anchors = ["start", *["middle"] * (last - 1), "end"]
    dates = []
    for number, (kind, anchor) in enumerate(zip(DATES, anchors, strict=True)):
        at = begin + (end - begin) * number / last
        dates.append(Date(at, _number(scale.x(at)), anchor, kind))
    if end - begin < timedelta(days=last):
        return [dates[0], dates[-1]]
    return dates


def _marks(marks: Sequence[tuple[str, datetime]], scale: _Scale) -> list[Mark]:
    """Those that lie within the chart; the newest are written first where room is short."""
    inside = [(name, at) for name, at in marks if scale.begin <= at <= scale.end]
    placed = []
    free_until = RIGHT + LABEL_WIDTH
    for name, at in sorted(inside, key=lambda mark: mark[1], reverse=True):
        x = scale.x(at)
        has_room = x + LABEL_WIDTH <= free_until
        if has_room:
            free_until = x
        placed.append(Mark(name, _number(x), name if has_room else ""))
    return placed[::-1]


def _number(value: float) -> str:
    return f"{value:.1f}"


# How many players stand where. Bars are drawn on a field of its own, as wide as FIELD.

HISTOGRAM_TOP = 12.0
HISTOGRAM_HEIGHT = 160.0
MOST_BINS = 40
FEWEST_BINS = 12
"""So many have room at least, or one player would be a wall across the chart."""
BAR = 0.86
"""The share of its room that a bar fills."""
LOWEST_BAR = 2.0
"""In pixels: a single player is still seen beside ten thousand."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A number on the axis of ratings, under the place where it stands."""

    value: int
    x: str


@dataclass(frozen=True, slots=True)
class Histogram:
    """`bars` and `marked_bar` are paths on the field: one path for all costs a page the least.

    `mark` is the place of the number that was asked about; empty where none was.
    """

    bins: Sequence[Bin]
    width: int
    bars: str
    marked_bar: str
    mark: str
    lines: Sequence[Line]
    ticks: Sequence[Tick]

    @property
    def fullest(self) -> Bin:
        return max(self.bins, key=lambda bin: bin.count)


def draw_histogram(census: Census, marked: int | None = None) -> Histogram | None:
    """How many players stand where, and the place of the number `marked`; None of an empty board.

    Across as far as the board's numbers go, in steps of a round width.
    """
    if not census.numbers:
        return None
    lowest, highest = census.numbers[-1].shown, census.numbers[0].shown
    width = _round_step((highest - lowest + 1) / (MOST_BINS - 1))
    bins = census.distribution(width)
    spare = max(0, FEWEST_BINS - len(bins))
    begin = bins[0].start - spare // 2 * width
    end = bins[-1].end + (spare - spare // 2) * width
    most = max(bin.count for bin in bins)

    def share(value: float) -> float:
        return (value - begin) / (end - begin)

    def x(value: float) -> str:
        return _number(LEFT + share(value) * (RIGHT - LEFT))

    def y(count: float) -> str:
        return _number(HISTOGRAM_TOP + (1 - count / most) * HISTOGRAM_HEIGHT)

    def bar(bin: Bin) -> str:
        room = FIELD * width / (end - begin)
        left = FIELD * share(bin.start) + room * (1 - BAR) / 2
        height = max(LOWEST_BAR, bin.count / most * HISTOGRAM_HEIGHT)
        base = f"{HISTOGRAM_HEIGHT:.0f}"
        return f"M{_number(left)} {base}v-{_number(height)}h{_number(room * BAR)}V{base}z"

    filled = [bin for bin in bins if bin.count]
    return Histogram(
        bins=bins,
        width=width,
        bars="".join(bar(bin) for bin in filled),
        marked_bar="".join(
            bar(bin) for bin in filled if marked is not None and bin.start <= marked < bin.end
        ),
        mark="" if marked is None else x(marked + 0.5),
        lines=[Line(count, y(count)) for count in grid(0, most)],
        ticks=[Tick(value, x(value)) for value in reversed(grid(begin, end))],
    )

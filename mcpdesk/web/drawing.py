"""Charts as shapes for SVG: where each bar, point, line and label goes. Pure.

Across, everything is in percent of the width and down in pixels, so that a chart fills its place
at any width while its words keep their size. Nothing here is drawn by a style: the policy of the
pages allows none (docs/live-pages.md).
"""

import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from tasks_monitor.charts import Outcome, Outcomes, Pace, Paces
from tasks_monitor.lengths import length_in_words
from tasks_monitor.spans import Range, Span

#: Heights (px): the plot from its top line to its ground, and what is above and below it.
PLOT: Final = 170
ABOVE: Final = 14
BELOW: Final = 26
#: The least height (px) of a piece of a bar: one failure among thousands is seen.
_LEAST: Final = 2.0
_BAR_SHARE: Final = 0.78
#: Lines of a scale of time (ms): from a millisecond to a year.
_TIMES: Final = (
    1, 10, 100, 1_000, 10_000, 60_000, 600_000, 3_600_000, 6 * 3_600_000, 86_400_000,
    7 * 86_400_000, 30 * 86_400_000, 365 * 86_400_000,
)  # fmt: skip
_MOST_LINES: Final = 5
_MOST_LABELS: Final = 7


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the scale: its height from the top (px) and its label."""

    y: float
    label: str


@dataclass(frozen=True, slots=True)
class Label:
    """A label below the plot; every other one is `spare`, and left out on a phone."""

    x: float
    text: str
    anchor: str
    spare: bool


class Piece(NamedTuple):
    """A piece of a bar, of one outcome."""

    outcome: Outcome
    y: float
    height: float


class Bar(NamedTuple):
    """What ended in one bucket; `words` say it all."""

    x: float
    width: float
    pieces: tuple[Piece, ...]
    words: str


class Dot(NamedTuple):
    """How long it took in one bucket; `words` say it all."""

    x: float
    median_y: float
    ninetieth_y: float
    words: str


class Stroke(NamedTuple):
    """A line between the dots of two buckets that stand beside each other."""

    x1: float
    y1: float
    x2: float
    y2: float
    kind: str


@dataclass(frozen=True, slots=True)
class Frame:
    """What all charts have: the lines of the scale and the labels of time."""

    lines: tuple[Line, ...]
    labels: tuple[Label, ...]
    height: int = ABOVE + PLOT + BELOW
    ground: int = ABOVE + PLOT
    label_y: int = ABOVE + PLOT + 18


@dataclass(frozen=True, slots=True)
class Bars:
    """The chart of outcomes, and the rows of the table behind it, newest first."""

    frame: Frame
    bars: tuple[Bar, ...]
    totals: tuple[tuple[Outcome, int], ...]
    rows: tuple[tuple[str, tuple[int, ...]], ...]
    total: int


@dataclass(frozen=True, slots=True)
class Dots:
    """A chart of lengths of time, on a logarithmic scale: one outlier hides nothing."""

    frame: Frame
    dots: tuple[Dot, ...]
    strokes: tuple[Stroke, ...]
    rows: tuple[tuple[str, Pace], ...]
    count: int


def bars(found: Outcomes, zone: tzinfo) -> Bars:
    """The chart of outcomes in the reader's zone."""
    most = max((counts.total() for counts in found.counts.values()), default=0)
    top = _round_up(most)
    names = _names(found.span, zone)
    numbers = sorted(found.counts)
    totals = found.totals
    return Bars(
        frame=Frame(tuple(_count_lines(top)), tuple(_labels(found.span, zone))),
        bars=tuple(_bar(n, found.counts[n], top, names[n], found.span) for n in numbers),
        totals=tuple((outcome, totals[outcome]) for outcome in Outcome),
        rows=tuple(
            (names[n], tuple(found.counts[n][outcome] for outcome in Outcome))
            for n in reversed(numbers)
        ),
        total=totals.total(),
    )


def _bar(number: int, counts: Counter[Outcome], top: int, name: str, span: Span) -> Bar:
    share = 100 / span.buckets
    said = ", ".join(f"{counts[o]:,} {o.label.lower()}" for o in Outcome if counts[o])
    return Bar(
        x=_tidy((number + (1 - _BAR_SHARE) / 2) * share),
        width=_tidy(share * _BAR_SHARE),
        pieces=tuple(_pieces(counts, top)),
        words=f"{name}: {said}",
    )


def _pieces(counts: Counter[Outcome], top: int) -> Iterator[Piece]:
    """From the ground up. The least heights may lift a bar a little above its true height."""
    ground: float = ABOVE + PLOT
    for outcome in Outcome:
        if counts[outcome]:
            height = max(_LEAST, counts[outcome] / top * PLOT)
            ground -= height
            yield Piece(outcome, _tidy(max(ground, 0)), _tidy(height))


def _round_up(most: int) -> int:
    """A whole number that halves well: 1, 2, 4, 6, 10, 20, 40, 60, 100, ..."""
    if most <= 2:
        return max(1, most)
    power = int(10 ** (len(str(most)) - 1))
    return next(step * power for step in (1, 2, 4, 6, 10) if step * power >= most)


def _count_lines(top: int) -> Iterator[Line]:
    for number in (0, top // 2, top) if top > 1 else (0, top):
        yield Line(_tidy(ABOVE + PLOT * (1 - number / top)), f"{number:,}")


def dots(found: Paces, zone: tzinfo) -> Dots:
    """The chart of lengths of time in the reader's zone."""
    scale = _scale(found.paces.values())
    names = _names(found.span, zone)
    numbers = sorted(found.paces)
    placed = {n: _dot(n, found.paces[n], scale, names[n], found.span) for n in numbers}
    return Dots(
        frame=Frame(tuple(_time_lines(scale)), tuple(_labels(found.span, zone))),
        dots=tuple(placed.values()),
        strokes=tuple(_strokes(placed)),
        rows=tuple((names[n], found.paces[n]) for n in reversed(numbers)),
        count=sum(pace.count for pace in found.paces.values()),
    )


def _dot(number: int, pace: Pace, scale: Sequence[int], name: str, span: Span) -> Dot:
    median, ninetieth = length_in_words(pace.median_ms), length_in_words(pace.ninetieth_ms)
    return Dot(
        x=_tidy((number + 0.5) * 100 / span.buckets),
        median_y=_height(pace.median_ms, scale),
        ninetieth_y=_height(pace.ninetieth_ms, scale),
        words=f"{name}: half within {median}, nine of ten within {ninetieth} ({pace.count:,})",
    )


def _strokes(placed: dict[int, Dot]) -> Iterator[Stroke]:
    """Only between neighbours: no line is drawn across a time in which nothing happened."""
    for number, dot in placed.items():
        after = placed.get(number + 1)
        if after is not None:
            yield Stroke(dot.x, dot.ninetieth_y, after.x, after.ninetieth_y, "ninetieth")
            yield Stroke(dot.x, dot.median_y, after.x, after.median_y, "median")


def _scale(shown: Collection[Pace]) -> Sequence[int]:
    """The lines between which all values lie; two at least."""
    if not shown:
        return _TIMES[3:8]
    least = min(pace.median_ms for pace in shown)
    most = max(pace.ninetieth_ms for pace in shown)
    first = max((i for i, line in enumerate(_TIMES[:-1]) if line <= least), default=0)
    last = next((i for i, line in enumerate(_TIMES) if line >= most), len(_TIMES) - 1)
    return _TIMES[first : max(last, first + 1) + 1]


def _height(ms: float, scale: Sequence[int]) -> float:
    low, high = scale[0], scale[-1]
    inside = min(max(ms, low), high)
    share = math.log(inside / low) / math.log(high / low)
    return _tidy(ABOVE + PLOT * (1 - share))


def _time_lines(scale: Sequence[int]) -> Iterator[Line]:
    step = math.ceil(len(scale) / _MOST_LINES)
    for line in scale[::step]:
        yield Line(_height(line, scale), length_in_words(line))


@lru_cache(maxsize=8)
def _names(span: Span, zone: tzinfo) -> tuple[str, ...]:
    """What each bucket is called in words and tables: the same for the three charts of a page."""
    starts = [edge.astimezone(zone) for edge in span.edges]
    if span.range in (Range.MONTH, Range.QUARTER):
        return tuple(f"{at:%a} {at.day} {at:%b}" for at in starts[:-1])
    edges = pairwise(starts)
    return tuple(f"{at:%a} {at.day} {at:%b}, {at:%H:%M} to {end:%H:%M}" for at, end in edges)


def _labels(span: Span, zone: tzinfo) -> Iterator[Label]:
    """A few of the buckets by name, the newest first."""
    marked = [n for n in range(span.buckets) if _is_marked(span, n, zone)]
    step = math.ceil(len(marked) / _MOST_LABELS)
    for place, number in enumerate(marked[::-1][::step]):
        x = _tidy((number + 0.5) * 100 / span.buckets)
        anchor = "start" if x < 4 else "end" if x > 96 else "middle"
        yield Label(x, _label(span, number, zone), anchor, spare=place % 2 == 1)


def _is_marked(span: Span, number: int, zone: tzinfo) -> bool:
    """Of a week, the beginnings of its days."""
    return span.range is not Range.WEEK or span.edges[number].astimezone(zone).hour == 0


def _label(span: Span, number: int, zone: tzinfo) -> str:
    at: datetime = span.edges[number].astimezone(zone)
    if span.range is Range.DAY:
        return f"{at:%H:%M}"
    return f"{at:%a} {at.day}" if span.range is Range.WEEK else f"{at.day} {at:%b}"


def _tidy(number: float) -> float:
    return round(number, 2)

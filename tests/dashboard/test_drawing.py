"""Charts as shapes: everything within its frame, small things seen, gaps left open."""

from collections import Counter
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from mcpdesk.web.drawing import ABOVE, PLOT, Bars, Dots, bars, dots
from tasks_monitor.charts import Outcome, Outcomes, Pace, Paces
from tasks_monitor.spans import Range, span

NOW = datetime(2026, 11, 29, 14, 5, tzinfo=UTC)
DAY = span(Range.DAY, NOW, UTC)
GROUND = ABOVE + PLOT
NUMBERS = st.integers(0, 23)


def outcomes_of(**counts: int) -> Bars:
    """One bar, in the newest bucket."""
    found = Counter({Outcome(name): number for name, number in counts.items()})
    return bars(Outcomes(DAY, {23: found}), UTC)


def paces_of(*paces: tuple[int, float, float]) -> Dots:
    return dots(Paces(DAY, {n: Pace(1, median, most) for n, median, most in paces}), UTC)


@given(st.dictionaries(NUMBERS, st.dictionaries(st.sampled_from(Outcome), st.integers(1, 10**9))))
def test_bars_stand_on_the_ground_without_gaps_and_stay_in_the_frame(
    counts: dict[int, dict[Outcome, int]],
) -> None:
    drawn = bars(Outcomes(DAY, {n: Counter(c) for n, c in counts.items() if c}), UTC)
    for bar in drawn.bars:
        assert 0 <= bar.x < bar.x + bar.width <= 100
        ground: float = GROUND
        for piece in bar.pieces:
            assert abs(piece.y + piece.height - ground) < 0.1
            ground = piece.y
        assert ground >= -0.1


@given(
    st.dictionaries(
        NUMBERS, st.tuples(st.floats(0, 1e15), st.floats(0, 1e15)).map(sorted), max_size=24
    )
)
def test_dots_and_lines_stay_in_the_frame_whatever_the_outliers(
    found: dict[int, list[float]],
) -> None:
    drawn = paces_of(*((n, low, high) for n, (low, high) in found.items()))
    for dot in drawn.dots:
        assert ABOVE <= dot.ninetieth_y <= dot.median_y <= GROUND
    heights = [line.y for line in drawn.frame.lines]
    assert heights == sorted(heights, reverse=True)
    assert 2 <= len(heights) <= 5
    assert all(ABOVE <= y <= GROUND for y in heights)


def test_one_failure_among_thousands_is_seen() -> None:
    completed, failed = outcomes_of(completed=99_999, failed=1).bars[0].pieces
    assert failed.height == 2
    assert completed.height > 150


def test_the_scale_of_counts_has_whole_numbers_in_its_middle() -> None:
    for most in (1, 2, 3, 7, 11, 99, 100, 101, 7_777_777):
        labels = [line.label for line in outcomes_of(completed=most).frame.lines]
        numbers = [int(label.replace(",", "")) for label in labels]
        assert numbers[-1] >= most
        assert numbers == [0, numbers[-1]] or numbers[1] * 2 == numbers[2]


def test_a_single_point_is_a_dot_without_a_line() -> None:
    drawn = paces_of((23, 60_000, 60_000))
    assert len(drawn.dots) == 1
    assert drawn.strokes == ()


def test_no_line_is_drawn_across_a_time_in_which_nothing_happened() -> None:
    drawn = paces_of((0, 1, 2), (1, 1, 2), (5, 1, 2))
    assert [stroke.kind for stroke in drawn.strokes] == ["ninetieth", "median"]


def test_a_time_without_anything_has_a_frame_and_nothing_in_it() -> None:
    drawn = bars(Outcomes(DAY), UTC)
    assert (drawn.bars, drawn.total) == ((), 0)
    assert [line.label for line in drawn.frame.lines] == ["0", "1"]
    assert paces_of().dots == ()


def test_what_a_bar_means_is_said_in_words_in_the_readers_zone() -> None:
    found = Outcomes(DAY, {23: Counter({Outcome.COMPLETED: 12, Outcome.TOOL_ERROR: 1})})
    (bar,) = bars(found, ZoneInfo("Europe/Warsaw")).bars
    assert bar.words == "Sun 29 Nov, 15:00 to 16:00: 12 completed, 1 tool reported an error"


def test_the_newest_row_of_the_table_comes_first() -> None:
    found = Outcomes(DAY, {3: Counter({Outcome.FAILED: 1}), 4: Counter({Outcome.DENIED: 2})})
    rows = bars(found, UTC).rows
    assert [counts for _, counts in rows] == [(0, 0, 0, 2, 0, 0, 0), (0, 0, 1, 0, 0, 0, 0)]


def test_labels_of_time_are_few_at_any_range() -> None:
    for wanted in Range:
        drawn = bars(Outcomes(span(wanted, NOW, UTC)), UTC)
        assert 3 <= len(drawn.frame.labels) <= 8
        assert not drawn.frame.labels[0].spare

import pytest

from tasks_monitor.lengths import length_in_words

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000


@pytest.mark.parametrize(
    ("ms", "words"),
    [
        (0, "0 ms"),
        (-5, "0 ms"),
        (999.4, "999 ms"),
        (999.6, "1 s"),
        (1_300, "1.3 s"),
        (12_900, "12 s"),
        (59_999, "59 s"),
        (MINUTE, "1 min"),
        (80 * SECOND, "1 min 20 s"),
        (HOUR + 59 * SECOND, "1 h"),
        (2 * HOUR + 5 * MINUTE, "2 h 5 min"),
        (3 * DAY + 4 * HOUR, "3 d 4 h"),
        (4_000 * DAY, "4,000 d"),
    ],
)
def test_a_length_of_time_stands_in_its_largest_units(ms: float, words: str) -> None:
    assert length_in_words(ms) == words

"""Words on one line: nothing hides, and nothing begins a line of its own."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpdesk.notify.plain import one_line


@given(st.text(max_size=400))
def test_one_line_is_one_line_that_hides_nothing(text: str) -> None:
    line = one_line(text)
    assert len(line) <= 200
    assert len(line.splitlines()) <= 1
    assert not any(unicodedata.category(char)[0] == "C" for char in line)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("deploy", "deploy"),
        ("a\r\nBcc: b@example.test", "a Bcc: b@example.test"),
        ("pay\u202eexe", "pay<U+202E>exe"),
        ("in\u200bvisible", "in<U+200B>visible"),
        ("\x00", "<U+0000>"),
        ("Zoë 漢字 🚀", "Zoë 漢字 🚀"),
    ],
)
def test_what_hides_is_written_out(text: str, line: str) -> None:
    assert one_line(text) == line


def test_a_long_line_says_that_it_is_cut() -> None:
    assert one_line("x" * 300, 10) == "x" * 9 + "…"

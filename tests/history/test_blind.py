"""The blind index: which words it knows, and what its numbers give away."""

from typing import Any

import pytest
from cryptography.fernet import Fernet
from hypothesis import given
from hypothesis import strategies as st

from mcpdesk import blind


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Deploy the API, now!", ["deploy", "the", "api", "now"]),
        ("deploy_project", ["deploy_project", "deploy", "project"]),
        ("Straße STRASSE", ["strasse"]),
        ("\uff24\uff45\uff50\uff4c\uff4f\uff59", ["deploy"]),  # full-width letters
        ("1f0c9a4e-0b1d", ["1f0c9a4e", "0b1d"]),
        ("", []),
    ],
)
def test_words_are_compared_without_case_and_width(text: str, expected: list[str]) -> None:
    assert blind.words(text) == expected


@given(st.text())
def test_whatever_stands_in_a_text_its_own_words_find_it(text: str) -> None:
    stored = set(blind.open_numbers(1, text))
    assert all(stored & set(numbers) for numbers in blind.asked(1, text))


@given(st.text(min_size=1), st.integers(1, 2**31))
def test_a_number_fits_a_bigint_and_its_sign_says_who_may_find_it(text: str, team: int) -> None:
    opened, sealed = blind.open_numbers(team, text), blind.sealed_numbers(team, text)
    assert all(0 < number < 2**63 for number in opened)
    assert sealed == [-number for number in opened]


def test_the_same_word_has_other_numbers_in_another_team() -> None:
    assert not set(blind.open_numbers(1, "deploy")) & set(blind.open_numbers(2, "deploy"))


def test_without_the_key_a_number_cannot_be_made(settings: Any) -> None:
    before = blind.open_numbers(1, "deploy")
    settings.ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    assert blind.open_numbers(1, "deploy") != before


def test_what_was_written_under_an_older_key_is_still_found(settings: Any) -> None:
    before = blind.open_numbers(1, "deploy")
    settings.ENCRYPTION_KEYS = [Fernet.generate_key().decode(), *settings.ENCRYPTION_KEYS]
    (numbers,) = blind.asked(1, "deploy")
    assert set(before) <= set(numbers)
    assert blind.open_numbers(1, "deploy") != before


def test_a_fact_is_no_word() -> None:
    assert blind.mark(1, "decided", 7) not in blind.open_numbers(1, "decided:7", "decided 7")


def test_a_text_without_end_has_an_end() -> None:
    assert len(blind.words(" ".join(str(n) for n in range(100_000)))) < blind.MAX_TEXT

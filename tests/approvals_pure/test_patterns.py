import time

import pytest

from approvals.schema_form import Refused, Unrenderable, answer
from tests.approvals_pure.asking import refused, sent, shown, unrenderable


def _pattern(pattern: object) -> dict[str, object]:
    return {"type": "string", "pattern": pattern}


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("b", "abc"),
        (r"^\d{2}-\w+$", "12-ab"),
        (r"^\p{L}+$", "żółw"),
        (r"^\u{1F600}$", "😀"),
        (r"^\u0041\x42\cJ$", "AB\n"),
        (r"^(?<year>\d{4})-\k<year>$", "2026-2026"),
        ("^[^]$", "\n"),
        (r"^[\w-.]+$", "a-."),
        (r"^[[]$", "["),
        (r"^a{,2}$", "a{,2}"),
        (r"^\s$", "\u00a0"),
        (r"^[\s]$", "\ufeff"),
        (r"^[\b]$", "\b"),
        (r"(?i)^abc$", "ABC"),
        (r"^(?:a|b)(?=c)(?!d)c(?<=c)(?<!x)$", "ac"),
        (r"^\/\-\.$", "/-."),
    ],
)
def test_ecma_patterns_match_as_they_do_in_a_browser(pattern: str, text: str) -> None:
    assert sent(_pattern(pattern), text) == {"f": text}


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"^\d+$", "١٢"),
        (r"^\w+$", "ż"),
        (r"^\d+$", "12\n"),
        ("^.$", "\u2028"),
        ("[]", "a"),
        (r"^\S$", "\u3000"),
        (r"^[^a]$", "a"),
    ],
)
def test_ecma_patterns_fail_as_they_do_in_a_browser(pattern: str, text: str) -> None:
    assert "form" in refused(_pattern(pattern), text)


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        ")",
        "[a",
        "a**",
        r"\h",
        "(?R)",
        "(?P>x)",
        r"\u{110000}",
        "(" * 4000,
        "a" * 6000,
        "\\",
        "((a{1000}){1000}){1000}",
        "a{999999}",
        r"\L<words>",
        "(?#comment)",
    ],
)
def test_a_pattern_that_cannot_be_run_refuses_what_is_filled_in(pattern: str) -> None:
    assert "cannot be read" in refused(_pattern(pattern), "x")
    assert sent(_pattern(pattern), "") == {}


def test_a_pattern_that_is_no_text_cannot_be_a_form() -> None:
    unrenderable(_pattern(5))


@pytest.mark.parametrize("pattern", ["(a|a)*$", "^(a|aa)+$", "(a*)*$", r"(\w+\s?)+$"])
def test_an_exploding_pattern_is_stopped_and_refused(pattern: str) -> None:
    started = time.monotonic()
    assert "too long" in refused(_pattern(pattern), "a" * 30_000 + "!b\n")
    assert time.monotonic() - started < 2


def test_many_exploding_patterns_share_one_allowance_of_time() -> None:
    names = [f"f{number}" for number in range(200)]
    schema = {
        "type": "object",
        "properties": {name: _pattern(f"(a|a)*{name}?$") for name in names},
    }
    started = time.monotonic()
    found = answer(schema, dict.fromkeys(names, "a" * 5_000 + "!\n"))
    assert isinstance(found, Refused | Unrenderable)
    assert time.monotonic() - started < 2


def test_a_default_that_breaks_the_pattern_suggests_nothing() -> None:
    assert shown(_pattern("^a$") | {"default": "b"}).suggestion == ""
    assert shown(_pattern("^a$") | {"default": "a"}).suggestion == "a"

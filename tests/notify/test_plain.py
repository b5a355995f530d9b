"""Words on one line: nothing hides, and nothing begins a line of its own."""

import unicodedata

import pytest
from django.utils.html import urlize
from hypothesis import given
from hypothesis import strategies as st

from mcpdesk.notify.plain import one_line, unlinked


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


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("example.com", "example[.]com"),
        ("Example.COM/pay?now=1", "Example[.]COM/pay?now=1"),
        ("https://login.example.com:444/x", "https[:]//login[.]example[.]com:444/x"),
        ("www.create_issue", "www[.]create_issue"),
        ("anna@example.com", "anna[@]example[.]com"),
        ("root@localhost", "root[@]localhost"),
        ("пример.рф", "пример[.]рф"),
        ("उदाहरण.भारत", "उदाहरण[.]भारत"),
        ("example\u3002com", "example[\u3002]com"),
        ("example.xn--p1ai", "example[.]xn--p1ai"),
        ('{"to":"a.example.zip"}', '{"to":"a[.]example[.]zip"}'),
        # these no program takes for an address
        ("github.create_issue", "github.create_issue"),
        ("deploy_project", "deploy_project"),
        ("v1.2.3", "v1.2.3"),
        ("2026-12-01 10:00 UTC", "2026-12-01 10:00 UTC"),
        ("Nothing was sent yet. Decide.", "Nothing was sent yet. Decide."),
        ("@here", "@here"),
    ],
)
def test_what_looks_like_an_address_is_none_any_more_and_all_else_stays(
    name: str, shown: str
) -> None:
    assert unlinked(name) == shown


@given(st.text(alphabet="aZ0.@:/-_ w。é[]", max_size=40), st.sampled_from(["com", "org", "net"]))
def test_nothing_makes_a_link_of_it_and_nothing_is_lost(text: str, domain: str) -> None:
    name = f"{text}.{domain}"
    shown = unlinked(name)
    # Django's own linkifier stands for those of mail programs
    assert urlize(shown) == shown
    for part in (".", "@", ":", "。"):
        shown = shown.replace(f"[{part}]", part)
        name = name.replace(f"[{part}]", part)
    assert shown == name

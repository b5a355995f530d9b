import pytest

from approvals.schema_form import Kind
from tests.approvals_pure.asking import refused, sent, shown, unrenderable

STRING = {"type": "string"}


def _format(name: str) -> dict[str, str]:
    return {"type": "string", "format": name}


def test_the_line_ends_of_a_text_area_go_out_as_line_feeds() -> None:
    assert sent(STRING, "a\r\nb\rc\nd") == {"f": "a\nb\nc\nd"}


def test_a_line_end_counts_as_one_character() -> None:
    assert sent(STRING | {"maxLength": 3}, "a\r\nb") == {"f": "a\nb"}


def test_spaces_around_a_text_are_part_of_it() -> None:
    assert sent(STRING, "  x ") == {"f": "  x "}


def test_length_counts_code_points() -> None:
    assert sent(STRING | {"maxLength": 1}, "😀") == {"f": "😀"}
    assert refused(STRING | {"minLength": 2}, "😀") == ("Enter at least 2 characters; there are 1.")


@pytest.mark.parametrize("typed", ["\ud800", "x\udfff", "a\x00b"])
def test_characters_that_cannot_be_sent_are_refused(typed: str) -> None:
    assert "cannot be sent" in refused(STRING, typed)


@pytest.mark.parametrize("count", [-1, 1.5, "3", True, []])
def test_a_length_that_is_no_count_cannot_be_a_form(count: object) -> None:
    assert "maxLength" in unrenderable(STRING | {"maxLength": count})


def test_a_length_written_with_a_zero_fraction_is_a_count() -> None:
    assert shown(STRING | {"maxLength": 3.0}).bounds.max_length == 3


@pytest.mark.parametrize(
    "address", ["a@b", "a.b+c@example.org", '"a b"@example.org', "a@[127.0.0.1]", "a@[IPv6:::1]"]
)
def test_an_e_mail_address_is_sent_as_typed(address: str) -> None:
    assert sent(_format("email"), f" {address} ") == {"f": address}


@pytest.mark.parametrize(
    "typed",
    [
        "a..b@c.de",
        ".a@b",
        "a@",
        "@b",
        "a@b@c",
        "a@-b.de",
        "a@b..c",
        "a b@c.de",
        "ż@b.pl",
        "a@[x]",
        "a" * 65 + "@b.de",
        "a@" + "b." * 130 + "de",
    ],
)
def test_what_is_no_e_mail_address_is_refused(typed: str) -> None:
    refused(_format("email"), typed)


@pytest.mark.parametrize(
    "uri",
    [
        "https://example.org/a?b=c#d",
        "https://u:p@h:80/",
        "https://[::1]/x",
        "mailto:a@b.c",
        "file:///etc/hosts",
        "tel:+481",
        "HTTP://EXAMPLE.ORG",
        "a:b",
    ],
)
def test_a_uri_is_anything_with_a_scheme(uri: str) -> None:
    assert sent(_format("uri"), uri) == {"f": uri}


@pytest.mark.parametrize(
    "typed",
    [
        "example.org",
        "/path",
        "https://",
        "https:x",
        "https://a b",
        "https://x/%zz",
        "1a:b",
        "https://[::1",
        "https://[x]/",
        "https://x/#a#b",
        "https://x/<y>",
        "https://ż.pl",
    ],
)
def test_what_is_no_uri_is_refused(typed: str) -> None:
    refused(_format("uri"), typed)


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("2026-11-29T14:00", "2026-11-29T14:00:00Z"),
        ("2026-11-29T14:00:05", "2026-11-29T14:00:05Z"),
        ("2026-11-29 14:00", "2026-11-29T14:00:00Z"),
        ("2026-11-29T14:00+02:00", "2026-11-29T14:00:00+02:00"),
        ("2026-11-29T14:00-0530", "2026-11-29T14:00:00-05:30"),
        ("2026-11-29t14:00:00.123456789z", "2026-11-29T14:00:00.123456789Z"),
    ],
)
def test_a_date_time_has_seconds_and_keeps_its_offset(typed: str, value: str) -> None:
    assert sent(_format("date-time"), typed) == {"f": value}


@pytest.mark.parametrize(
    "typed",
    [
        "2026-11-29",
        "14:00",
        "2026-02-30T10:00",
        "2026-11-29T25:00",
        "2026-11-29T14:60",
        "now",
        "2026-11-29T14:00+25:00",
        "٢026-11-29T14:00",
    ],
)
def test_a_date_time_that_does_not_exist_is_refused(typed: str) -> None:
    refused(_format("date-time"), typed)


@pytest.mark.parametrize(
    "typed", ["29.11.2026", "2026-1-2", "2026-13-01", "20261129", "2026-W01-1"]
)
def test_a_date_in_another_form_is_refused(typed: str) -> None:
    refused(_format("date"), typed)


def test_a_date_time_default_is_suggested_as_the_same_instant_in_utc() -> None:
    part = _format("date-time") | {"default": "2026-11-29T14:00:00+02:00"}
    assert shown(part).suggestion == "2026-11-29T12:00:00"


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        (STRING, Kind.TEXT),
        (STRING | {"maxLength": 2000}, Kind.MULTILINE),
        (STRING | {"default": "a\nb"}, Kind.MULTILINE),
        (_format("email"), Kind.EMAIL),
        (_format("uri"), Kind.URL),
        (_format("date"), Kind.DATE),
        (_format("date-time"), Kind.DATETIME),
        (_format("postcode"), Kind.TEXT),
        (_format("email") | {"format": 5}, Kind.TEXT),
    ],
)
def test_a_text_is_shown_as_its_kind(part: dict[str, object], kind: Kind) -> None:
    assert shown(part).kind is kind


@pytest.mark.parametrize("default", ["toolong", 5, None, {}, "no"])
def test_a_default_that_breaks_the_rules_suggests_nothing(default: object) -> None:
    part = STRING | {"minLength": 3, "maxLength": 4, "default": default}
    assert shown(part).suggestion == ""

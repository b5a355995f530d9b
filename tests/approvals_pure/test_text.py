import time

import pytest

from approvals.text import SegmentKind, disguises_in, reads_right_to_left, reveal, warnings_for


def _hidden(text: str) -> list[tuple[str, str]]:
    found = reveal(text)
    return [(part.text, part.kind.value) for part in found if part.kind is not SegmentKind.PLAIN]


def _codes(text: str) -> set[str]:
    return {warning.code for warning in warnings_for(text)}


@pytest.mark.parametrize(
    ("char", "kind"),
    [
        ("\u202e", "bidi"),
        ("\u2066", "bidi"),
        ("\u061c", "bidi"),
        ("\u200b", "invisible"),
        ("\u00ad", "invisible"),
        ("\ufeff", "invisible"),
        ("\u3164", "invisible"),
        ("\u2060", "invisible"),
        ("\ufe0f", "invisible"),
        ("\U000e0101", "invisible"),
        ("\U000e0041", "tag"),
        ("\u00a0", "space"),
        ("\u3000", "space"),
        ("\x00", "control"),
        ("\x1b", "control"),
        ("\x85", "control"),
        ("\u2028", "control"),
        ("\ud800", "control"),
        ("\uffff", "control"),
        ("\ue000", "private"),
    ],
)
def test_what_cannot_be_seen_is_written_out(char: str, kind: str) -> None:
    assert _hidden(f"a{char}b") == [(f"U+{ord(char):04X}", kind)]


@pytest.mark.parametrize(
    "text",
    [
        "Zażółć gęślą jaźń",
        "line\nline\r\n\ttab",
        "👨\u200d👩\u200d👧 ❤️",
        "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
        "می\u200cخواهم",
        "क्\u200dष",
        "葛\U000e0100",
        "日本\u3000語",
        "<b>&amp;</b>",
        "",
    ],
)
def test_ordinary_writing_is_left_as_it_is(text: str) -> None:
    assert _hidden(text) == []
    assert "".join(part.text for part in reveal(text)) == text


def test_a_joiner_outside_its_script_is_written_out() -> None:
    assert _hidden("pay\u200dpal") == [("U+200D", "invisible")]


def test_text_hidden_in_tags_is_spelled_out() -> None:
    hidden = "".join(chr(0xE0000 + ord(char)) for char in "drop all")
    notes = [part.note for part in reveal(f"hello{hidden}") if part.note]
    assert notes == ["hidden text: drop all"]
    assert _codes(f"hello{hidden}") == {"tag_characters"}


def test_pieces_come_in_order_and_markup_is_text() -> None:
    texts = [part.text for part in reveal("<b>\u200b\u200b</b>\u202e!")]
    assert texts == ["<b>", "U+200B U+200B", "</b>", "U+202E", "!"]


@pytest.mark.parametrize(
    "text",
    [
        *("a\u202eb" * 50_000, "\u200b" * 100_000, "🏴" * 100_000, "disable " * 20_000),
        *("é" * 200_000, "é." * 100_000, "é@" * 100_000, "é-" * 100_000, "é http://" * 20_000),
    ],
)
def test_long_text_takes_linear_time(text: str) -> None:
    started = time.monotonic()
    warnings_for(text)
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    "text",
    [
        "Enter your password",
        "Paste the access token here",
        "We need your API-key",
        "your PIN please",
        "Write down the seed phrase",
        "Wpisz hasło",
        "Geben Sie Ihr Passwort ein",
        "パスワードを入力",
        "Enter your pass\u200bword",
        "Your p\u0430ssword",
        "ＰＡＳＳＷＯＲＤ",
        "Enter the 6-digit code from your authenticator app",
        "Paste what stands in ~/.ssh/id_rsa",
        "x" + "".join(chr(0xE0000 + ord(char)) for char in " password"),
    ],
)
def test_asking_for_a_secret_is_warned_about_however_it_is_spelled(text: str) -> None:
    assert "asks_for_secret" in _codes(text)


@pytest.mark.parametrize(
    "text",
    [
        "Please turn off SSL verification",
        "Disable the firewall first",
        "Skip all the checks",
        "ignore previous instructions",
        "bypass two-factor",
        "Turn off your VPN",
        "skip the review",
        "Di\u200bsable protection",
    ],
)
def test_asking_to_switch_off_checks_is_warned_about(text: str) -> None:
    assert "switch_off_checks" in _codes(text)


@pytest.mark.parametrize("text", ["p\u0430ypal", "раураl", "Gο to"])
def test_words_of_mixed_alphabets_are_warned_about(text: str) -> None:
    assert "mixed_script" in _codes(text)


@pytest.mark.parametrize(
    "text",
    [
        "Go to https://аррӏе.com/login",
        "see xn--80ak6aa92e.com",
        "mail amelia@pаypal.com",
        "user:pass@pаypal.com:8443",
        "HTTPS://XN--80AK6AA92E.COM",
    ],
)
def test_a_host_of_borrowed_letters_is_warned_about_wherever_it_stands(text: str) -> None:
    assert "look_alike_host" in _codes(text)
    assert "look_alike_host" in {one.code for one in disguises_in(text)}


@pytest.mark.parametrize(
    "text",
    [
        "https://bücher.de and https://москва.рф",
        "xn--bcher-kva.de",
        "Ну и что.Так и есть.",
        "api.example.com:8443",
        "Kosten: 5€.Danke",
    ],
)
def test_a_host_in_one_alphabet_and_a_sentence_are_not(text: str) -> None:
    assert disguises_in(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        "Deploy 3 services to production?",
        "10 tokens left in your plan",
        "Δt is 10 µs at 5 kΩ",
        "Москва and Paris",
        "Skip the intro",
        "What is your name?",
        "日本語とEnglish",
    ],
)
def test_ordinary_questions_are_not_warned_about(text: str) -> None:
    assert _codes(text) == set()


def test_the_gravest_warning_comes_first_and_each_only_once() -> None:
    found = warnings_for("\u202epassword \u202epassword")
    assert [warning.code for warning in found] == ["bidi", "asks_for_secret"]


@pytest.mark.parametrize("text", ["שלום", "Pay 5 to يوسف", "a\u07c1b"])
def test_words_from_right_to_left_are_known(text: str) -> None:
    assert reads_right_to_left(text)


@pytest.mark.parametrize("text", ["", "5 + 5", "Ωmega", "日本", "שלום".encode().hex()])
def test_words_from_left_to_right_are_left_alone(text: str) -> None:
    assert not reads_right_to_left(text)

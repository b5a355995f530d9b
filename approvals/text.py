"""A server's words as people may safely read them. Pure; no markup is ever interpreted.

What cannot be seen, or changes how the rest is seen, is written out ("U+202E"). What belongs to
ordinary writing stays: joiners inside emoji and inside scripts that need them, one variation
selector after a character that takes one. (Unicode 17, chapter 23; UTS 39; UTS 51 for emoji.)
"""

import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import regex

from approvals.hosts import InvalidHost, read_host
from approvals.lookalikes import folded, is_look_alike, looks_latin, scripts_of
from approvals.secret_words import asks_for_secret


class SegmentKind(StrEnum):
    """What a piece of text is."""

    PLAIN = "plain"
    CONTROL = "control"
    BIDI = "bidi"
    INVISIBLE = "invisible"
    TAG = "tag"
    SPACE = "space"
    PRIVATE = "private"


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece to show: plain text as it came, or the code points of what would not be seen.

    `note` says in words what stands there, empty for plain text.
    """

    text: str
    kind: SegmentKind
    note: str = ""


@dataclass(frozen=True, slots=True)
class Warning:
    """Something to tell the reader above the text."""

    code: str
    sentence: str


_JOINING_SCRIPTS: Final = (
    r"\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{Script=Devanagari}"
    r"\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}"
    r"\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Khmer}"
)
_ORDINARY: Final = (
    r"\r\n"
    r"|\U0001F3F4\U000E0067\U000E0062(?:\U000E0065\U000E006E\U000E0067"
    r"|\U000E0073\U000E0063\U000E0074|\U000E0077\U000E006C\U000E0073)\U000E007F"
    r"|(?<=[\p{Extended_Pictographic}\uFE0F\p{Emoji_Modifier}])\u200D(?=\p{Extended_Pictographic})"
    rf"|(?<=[{_JOINING_SCRIPTS}])[\u200C\u200D](?=[{_JOINING_SCRIPTS}])"
    r"|(?<=[\p{Emoji}\p{So}\p{Sm}\p{Po}])[\uFE0E\uFE0F]"
    r"|(?<=\p{Script=Han})[\uFE00-\uFE02\U000E0100-\U000E01EF]"
    r"|(?<=[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\u3001\u3002])\u3000"
)
_CLASSES: Final = {
    SegmentKind.BIDI: r"[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]",
    SegmentKind.TAG: r"[\U000E0000-\U000E007F]",
    SegmentKind.INVISIBLE: (
        r"[\u00AD\u034F\u115F\u1160\u17B4\u17B5\u180B-\u180F\u200B-\u200D\u2060-\u2065\u206A-\u206F"
        r"\u2800\u3164\uFE00-\uFE0F\uFEFF\uFFA0\uFFF9-\uFFFB\U0001BCA0-\U0001BCA3"
        r"\U0001D173-\U0001D17A\U000E0080-\U000E0FFF]"
    ),
    SegmentKind.SPACE: r"[\u00A0\u1680\u2000-\u200A\u202F\u205F\u3000]",
    SegmentKind.PRIVATE: r"[\p{Co}]",
    SegmentKind.CONTROL: r"(?:(?![\t\n])[\p{Cc}\p{Cs}\u2028\u2029\p{Noncharacter_Code_Point}])",
}
_HIDDEN: Final = regex.compile(
    f"(?P<ordinary>{_ORDINARY})|"
    + "|".join(f"(?P<{kind.value}>{chars}+)" for kind, chars in _CLASSES.items())
)


def reveal(text: str) -> tuple[Segment, ...]:
    """The text in pieces, in order, with all that hides written out. Linear in its length."""
    segments: list[Segment] = []
    shown_to = 0
    for found in _HIDDEN.finditer(text):
        if found["ordinary"]:
            continue
        if found.start() > shown_to:
            segments.append(Segment(text[shown_to : found.start()], SegmentKind.PLAIN))
        segments.append(_written_out(found[0], SegmentKind(str(found.lastgroup))))
        shown_to = found.end()
    if shown_to < len(text):
        segments.append(Segment(text[shown_to:], SegmentKind.PLAIN))
    return tuple(segments)


def _written_out(chars: str, kind: SegmentKind) -> Segment:
    codes = " ".join(f"U+{ord(char):04X}" for char in chars)
    return Segment(codes, kind, _note(chars, kind))


def _note(chars: str, kind: SegmentKind) -> str:
    if kind is SegmentKind.TAG:
        spelled = "".join(chr(ord(c) - 0xE0000) for c in chars if 0xE0020 <= ord(c) < 0xE007F)
        return f"hidden text: {spelled}" if spelled else "tag characters"
    if len(set(chars)) == 1:
        name = unicodedata.name(chars[0], f"{kind.value} character").lower()
        return name if len(chars) == 1 else f"{len(chars)} times {name}"
    return f"{len(chars)} {kind.value} characters"


_RIGHT_TO_LEFT: Final = regex.compile(r"[\p{bc=R}\p{bc=AL}]")


def reads_right_to_left(text: str) -> bool:
    """Whether any of it is written right to left, so that its neighbours could be reordered."""
    return _RIGHT_TO_LEFT.search(text) is not None


_GAP: Final = r"\b[^.!?]{0,60}?\b"
_SWITCH_OFF: Final = regex.compile(
    r"\b(?:disable|deactivate|turn off|turning off|switch off|bypass|circumvent|skip|ignore"
    rf"|disregard|override|suppress){_GAP}"
    r"(?:verification|validation|checks?|checking|security|antivirus|firewall|protections?"
    r"|safeguards?|safety|sandbox|warnings?|ssl|tls|certificates?|2fa|mfa|two factor|approvals?"
    r"|confirmations?|reviews?|vpn|policy|policies|guardrails?"
    r"|previous instructions|prior instructions|instructions above)\b"
)
_NAME: Final = r"[\p{L}\p{M}\p{N}_-]"
#: A host in running text: behind // or @, or with an end like one's. It begins only where a name
#: can begin, so that a long text is gone through once.
_HOST: Final = regex.compile(
    rf"(?<![\p{{L}}\p{{M}}\p{{N}}_.-])(?:(?<=//|@){_NAME}++(?:\.{_NAME}++)*+"
    rf"|(?:{_NAME}++\.)+(?:[A-Za-z]{{2,24}}|(?i:xn--)[A-Za-z0-9-]+)(?!{_NAME}))"
)
_WORD: Final = regex.compile(r"[\p{L}\p{M}\p{N}_]+")
_SENTENCES: Final = {
    "bidi": "This text has characters that change its reading direction; they are written out.",
    "tag_characters": "This text carries hidden text in tag characters; it is written out.",
    "invisible": "This text has characters that cannot be seen; they are written out.",
    "private_use": "This text has characters without a meaning of their own; they are written out.",
    "asks_for_secret": (
        "This text asks for a password, a key or another secret. A server must not ask for one "
        "in a form: do not enter it here."
    ),
    "switch_off_checks": "This text asks to skip or switch off a check. Be careful.",
    "look_alike_host": (
        "This text names a host with letters that look like others. It is another host than it "
        "looks like."
    ),
    "mixed_script": "A word in this text mixes alphabets, so it may not be the word it looks like.",
}
_KIND_CODES: Final = {
    SegmentKind.BIDI: "bidi",
    SegmentKind.TAG: "tag_characters",
    SegmentKind.INVISIBLE: "invisible",
    SegmentKind.CONTROL: "invisible",
    SegmentKind.PRIVATE: "private_use",
}


def warnings_for(text: str) -> tuple[Warning, ...]:
    """What a reader should be told about the text, each thing once, the gravest first.

    Words are judged by what they look like, so hidden characters and borrowed letters do not
    keep a word from being recognised.
    """
    codes = {_KIND_CODES.get(segment.kind, "") for segment in reveal(text)}
    if asks_for_secret(text):
        codes.add("asks_for_secret")
    if _SWITCH_OFF.search(" ".join(folded(text).replace("-", " ").split())):
        codes.add("switch_off_checks")
    return _warnings(codes) + disguises_in(text)


def disguises_in(text: str) -> tuple[Warning, ...]:
    """The warnings about hosts and words that are not what they look like, whoever wrote them."""
    if text.isascii() and "xn--" not in text.lower():
        return ()
    codes = set()
    if any(_is_look_alike(found[0]) for found in _HOST.finditer(text)):
        codes.add("look_alike_host")
    if any(mixes_scripts(word[0]) for word in _WORD.finditer(text) if not word[0].isascii()):
        codes.add("mixed_script")
    return _warnings(codes)


def _warnings(codes: set[str]) -> tuple[Warning, ...]:
    return tuple(Warning(code, words) for code, words in _SENTENCES.items() if code in codes)


def _is_look_alike(name: str) -> bool:
    """Whether a host, as people read it or in punycode, looks like another one."""
    if "xn--" not in name.lower():
        # read as it stands: as a browser reads it takes far longer, and comes to the same
        return any(map(is_look_alike, name.split(".")))
    try:
        return read_host(name).is_look_alike
    except InvalidHost:
        return False


def mixes_scripts(word: str) -> bool:
    """Whether Latin letters stand beside others that look Latin; "10 µs" and "Δt" do not."""
    if len(scripts_of(word)) < 2 or "Latin" not in scripts_of(word):
        return False
    return any(looks_latin(letter) for letter in word if "Latin" not in scripts_of(letter))

"""Letters that look like other letters, and text brought to what it looks like."""

import unicodedata
from functools import lru_cache
from typing import Final

import regex

# Letters of other scripts that most fonts draw like a Latin one (after Unicode UTS 39,
# confusables; the letters that matter for names of hosts and for words).
_LOOK_LIKE_LATIN: Final = {
    "a": "аɑα",
    "b": "Ььƅ",
    "c": "сϲᴄⅽ",
    "d": "ԁժⅾ",
    "e": "еєҽ℮",
    "g": "ɡց",
    "h": "һհ",
    "i": "іɩιӏı",
    "j": "јϳ",
    "k": "κкᴋ",
    "l": "ⅼ",
    "m": "мⅿᴍ",
    "n": "ոп",
    "o": "оοօס००〇ഠ",
    "p": "рρ",
    "q": "ԛգ",
    "r": "гᴦ",
    "s": "ѕꜱ",
    "t": "тτᴛ",
    "u": "υսᴜ",
    "v": "νѵᴠⅴ",
    "w": "ԝѡաᴡ",
    "x": "хχⅹ",
    "y": "уүγʏ",
    "z": "ᴢ",
}
_TO_LATIN: Final = {ord(odd): latin for latin, odds in _LOOK_LIKE_LATIN.items() for odd in odds}
_TAGS: Final = {code: code - 0xE0000 for code in range(0xE0020, 0xE007F)}
_DIGITS: Final = str.maketrans({"0": "o", "1": "l", "3": "e", "5": "s", "|": "l", "i": "l"})

_INVISIBLE: Final = regex.compile(
    r"[\p{Cf}\p{Mn}\p{Me}\u115f\u1160\u3164\uffa0\u2800\p{Cc}--\s]", regex.V1
)
_SCRIPTS: Final = {
    "Latin": regex.compile(r"\p{Script=Latin}"),
    "Cyrillic": regex.compile(r"\p{Script=Cyrillic}"),
    "Greek": regex.compile(r"\p{Script=Greek}"),
    "Armenian": regex.compile(r"\p{Script=Armenian}"),
    "Hebrew": regex.compile(r"\p{Script=Hebrew}"),
    "Arabic": regex.compile(r"\p{Script=Arabic}"),
    "Cherokee": regex.compile(r"\p{Script=Cherokee}"),
    "Georgian": regex.compile(r"\p{Script=Georgian}"),
    "Thai": regex.compile(r"\p{Script=Thai}"),
    "Devanagari": regex.compile(r"\p{Script=Devanagari}"),
}


@lru_cache(maxsize=4096)
def _script(letter: str) -> str | None:
    return next((name for name, found in _SCRIPTS.items() if found.match(letter)), None)


def scripts_of(word: str) -> frozenset[str]:
    """The scripts of its letters, by name; East Asian ones are left out, they mix by custom."""
    return frozenset(name for letter in word if (name := _script(letter)) is not None)


def looks_latin(letter: str) -> bool:
    """Whether a letter of another script is drawn like a Latin one."""
    return ord(letter.lower()) in _TO_LATIN or ord(letter) in _TO_LATIN


def is_look_alike(label: str) -> bool:
    """Whether one part of a host name mixes alphabets, or is foreign and reads as plain a to z."""
    if label.isascii():
        return False
    if len(scripts_of(label)) > 1 or any(map(_is_disguised_latin, label)):
        return True
    return "Latin" not in scripts_of(label) and skeleton(label).isascii()


def _is_disguised_latin(letter: str) -> bool:
    return not letter.isascii() and looks_latin(letter) and "Latin" in scripts_of(letter)


def folded(text: str) -> str:
    """What the text looks like, in small Latin letters where it looks Latin.

    Hidden characters are gone, tag characters are the letters they stand for, accents are off.
    """
    spelled_out = text.translate(_TAGS)
    bare: str = _INVISIBLE.sub("", unicodedata.normalize("NFKD", spelled_out))
    return bare.translate(_TO_LATIN).casefold().translate(_TO_LATIN)


def look(line: str) -> str:
    """What one line looks like, its case and accents kept: spaces that nobody sees are off."""
    visible: str = _INVISIBLE.sub("", unicodedata.normalize("NFC", line))
    return " ".join(visible.translate(_TO_LATIN).split())


def skeleton(host: str) -> str:
    """A host name by its looks: two hosts with one skeleton can be mistaken for each other."""
    return folded(host).translate(_DIGITS).replace("rn", "m").replace("vv", "w")

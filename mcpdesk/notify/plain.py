"""Words for a message: one line each, with everything that hides written out."""

import unicodedata

MAX_CHARS = 200
#: Controls, formats (all that turn the reading direction or are invisible), surrogates, private
#: use, unassigned, line and paragraph separators (Unicode 17, section 4.5).
_WRITTEN_OUT = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_WHITE = "\t\n\r\v\f"


def one_line(text: str, limit: int = MAX_CHARS) -> str:
    """The text on one line, at most `limit` characters: a header, a subject, a button.

    No line break gets through, so none can begin a header of its own (RFC 5322 section 2.2).
    """
    words = "".join(_shown(char) for char in text[: limit * 2])
    line = " ".join(words.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def _shown(char: str) -> str:
    if char in _WHITE:
        return " "
    if unicodedata.category(char) in _WRITTEN_OUT:
        return f"<U+{ord(char):04X}>"
    return char

"""Words for a message: one line each, with everything that hides written out."""

import re
import unicodedata

MAX_CHARS = 200
#: Controls, formats (all that turn the reading direction or are invisible), surrogates, private
#: use, unassigned, line and paragraph separators (Unicode 17, section 4.5).
_WRITTEN_OUT = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_WHITE = "\t\n\r\v\f"

#: What mail programs take for a part of an address: the dot before what could be a top-level domain
#: (two letters or more; U+3002, U+FF0E and U+FF61 are dots to browsers, too: UTS 46, section 2.3)
#: or behind "www", the @ of a mailbox, the end of a scheme. No domain has an underscore.
_OF_ADDRESS = re.compile(
    r"(?<=\S)[.\u3002\uff0e\uff61](?=[^\W\d_](?:[^\W\d_]|[^\x00-\x7f]|-))(?![^\W_]*_)"
    r"|(?<=www)\.|(?<=\S)@(?=\S)|:(?=//)",
    re.IGNORECASE,
)


def one_line(text: str, limit: int = MAX_CHARS) -> str:
    """The text on one line, at most `limit` characters: a header, a subject, a button.

    No line break gets through, so none can begin a header of its own (RFC 5322 section 2.2).
    """
    words = "".join(_shown(char) for char in text[: limit * 2])
    line = " ".join(words.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def unlinked(text: str) -> str:
    """The text with the dots of whatever looks like an address in brackets: "example[.]com".

    Mail programs make links of names by themselves. They do so within quotes, and within the
    elements of HTML; what they do not take for an address is no link in any of them, and nothing
    invisible is in it.
    """
    return _OF_ADDRESS.sub(lambda part: f"[{part[0]}]", text)


def _shown(char: str) -> str:
    if char in _WHITE:
        return " "
    if unicodedata.category(char) in _WRITTEN_OUT:
        return f"<U+{ord(char):04X}>"
    return char

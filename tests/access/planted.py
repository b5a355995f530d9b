"""Marked texts: each says by itself whose eyes it is for, so that any answer can be searched."""

import re
from collections.abc import Collection
from dataclasses import dataclass, field

_MARK = re.compile(r"zq\d{4}qz")
#: Ends every mark: on a page it must never be what it says.
_TAG = "<i>"
_MARKUP = re.compile(rf"zq\d{{4}}qz{_TAG}")
#: Turns what follows it around; pages have to write it out.
UNSEEN = "\u202e"
#: What people type again, or what only the browser reads: it stands there as it is.
_NOT_READ = re.compile(r'<textarea.*?</textarea>|="[^"]*"', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Planted:
    """One text in one field: which thing it belongs to, what it is, and who may ever meet it."""

    thing: str
    label: str
    readers: frozenset[str]


@dataclass(slots=True)
class Garden:
    """All marks of a world."""

    planted: dict[str, Planted] = field(default_factory=dict)

    def plant(self, thing: str, label: str, readers: Collection[str]) -> str:
        """A new text: a mark, and a tag behind it."""
        mark = f"zq{len(self.planted):04d}qz"
        self.planted[mark] = Planted(thing, label, frozenset(readers))
        return f"{mark}{_TAG}"

    def found_in(self, text: str) -> set[Planted]:
        """What of all that was planted stands in this text."""
        return {self.planted[mark] for mark in _MARK.findall(text) if mark in self.planted}


def hides(html: str) -> bool:
    """Whether a page shows as it is what nobody can see."""
    return UNSEEN in _NOT_READ.sub("", html)


def is_markup(html: str) -> bool:
    """Whether what somebody wrote stands in a page as an element."""
    return _MARKUP.search(html) is not None

"""What a list reads, and says, of the filters in its address."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

#: So much of a value in an address is read (characters).
MAX_CHARS: Final = 200
#: So much of a value is said (characters).
SHOWN_CHARS: Final = 60


def meant(
    given: Mapping[str, str], names: Iterable[str], means: Callable[[str, str], bool]
) -> dict[str, str]:
    """What an address gives the fields of those names, where that means something."""
    read = {name: given.get(name, "").strip()[:MAX_CHARS] for name in names}
    return {name: value for name, value in read.items() if means(name, value)}


def left_out(
    given: Mapping[str, str], names: Iterable[str], means: Callable[[str, str], bool]
) -> list[tuple[str, str]]:
    """The fields of those names that an address gives a value that means nothing, with the value.

    A list that left them out without a word would look like what was asked for.
    """
    asked = ((name, given.get(name, "").strip()) for name in names)
    return [
        (name, value[:SHOWN_CHARS]) for name, value in asked if value and not means(name, value)
    ]

"""The values that go in and out of a form made from a server's schema."""

from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Any, Final, TypeAlias

Json: TypeAlias = Any
"""Any JSON value, as Python's own types."""

FORM_ERRORS: Final = "__all__"
"""The key in `Refused.errors` of what concerns the answer as a whole, as Django forms name it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Content that satisfies the server's schema and may be sent with `accept`."""

    content: dict[str, Json]


@dataclass(frozen=True, slots=True)
class Refused:
    """What was filled in cannot be sent: a sentence for each field, by its bare name."""

    errors: dict[str, str]


@dataclass(frozen=True, slots=True)
class Unrenderable:
    """The schema cannot be a form at all; `reason` is a sentence for the person."""

    reason: str


class Kind(StrEnum):
    """Which control a field is shown as."""

    TEXT = "text"
    MULTILINE = "multiline"
    EMAIL = "email"
    URL = "url"
    DATE = "date"
    DATETIME = "datetime"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    CHOICE = "choice"
    CHOICES = "choices"


@dataclass(frozen=True, slots=True)
class Choice:
    """One value a person can pick: what the browser posts, what is shown, what is sent."""

    value: str
    title: str
    content: Json


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits the schema sets; None where it sets none. Lengths count code points."""

    minimum: int | float | None = None
    maximum: int | float | None = None
    exclusive_minimum: int | float | None = None
    exclusive_maximum: int | float | None = None
    multiple_of: int | float | None = None
    min_length: int | None = None
    max_length: int | None = None
    min_items: int | None = None
    max_items: int | None = None


@dataclass(frozen=True, slots=True)
class Field:
    """One question of the form. Every text in it is the server's and is never markup.

    `nullable`: the schema also takes null; that goes out only when the field is required and
    was left empty. `allowed`: the booleans that `const` or `enum` permit. `default`: as
    the server sent it. `suggestion`: the same as a browser posts it, empty when there is none or
    it breaks the schema.
    """

    name: str
    label: str
    help: str
    kind: Kind
    required: bool
    nullable: bool = False
    choices: tuple[Choice, ...] = ()
    bounds: Bounds = field(default_factory=Bounds)
    pattern: str | None = None
    allowed: frozenset[bool] = frozenset({True, False})
    default: Json = None
    suggestion: str | tuple[str, ...] = ""
    secret_like: bool = False

    @property
    def is_open_question(self) -> bool:
        """A yes or no without a suggestion: posted empty, it is no answer.

        Not posted at all it is an unticked box, which says no.
        """
        free = self.kind is Kind.BOOLEAN and len(self.allowed) == 2
        return free and not isinstance(self.default, bool)


class Absent(Enum):
    """The mark of a field that is left out of the content."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT


class CannotShow(Exception):
    """The schema cannot be a form; the message is the sentence that says why."""


class FieldRefused(Exception):
    """One field's value cannot be sent; the message is the sentence shown beside it."""


def same_json(left: Json, right: Json) -> bool:
    """Equality of JSON values by JSON Schema 2020-12 (core, 4.2.2): 1 is 1.0 and is not true."""
    if isinstance(left, bool) is not isinstance(right, bool):
        return False
    return bool(left == right)

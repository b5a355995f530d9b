"""From JSON to a rule: strict, since what is not understood must not be passed over."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, TypeVar

from approvals.policy.model import (
    DEFAULT_ASK,
    Ask,
    AtDeadline,
    Audience,
    BadRule,
    Condition,
    Effect,
    Operator,
    Rule,
    Starter,
    StarterKind,
)
from approvals.schema_form.budget import Budget, OutOfTime
from approvals.schema_form.model import FieldRefused
from approvals.schema_form.patterns import Patterns
from mcpdesk.mcp.jsontext import storable

MAX_NAME_CHARS: Final = 80
MAX_GLOB_CHARS: Final = 256
MAX_CONDITIONS: Final = 20
MAX_PATTERN_CHARS: Final = 500
MAX_QUORUM: Final = 20
MIN_DEADLINE_S: Final = 60
MAX_DEADLINE_S: Final = 90 * 24 * 3600
#: The annotations of a tool that a rule may look at (ToolAnnotations in the schema).
HINTS: Final = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_ROLES: Final = ("viewer", "approver", "operator", "auditor", "admin")
_STEPS: Final = re.compile(r"[^.]+(?:\.[^.]+)*")

WordT = TypeVar("WordT", bound=StrEnum)


def read_rule(raw: object) -> Rule:
    """One rule as it is stored. Raises BadRule for anything that is not exactly a rule."""
    known = ("name", "effect", "server", "tool", "starter", "arguments", "claims", "ask")
    rule = _object(raw, "The rule", known)
    return Rule(
        name=_text(rule.get("name"), "The name", MAX_NAME_CHARS),
        effect=_word(Effect, rule.get("effect"), "The effect"),
        server=_text(rule.get("server", "*"), "The server pattern", MAX_GLOB_CHARS),
        tool=_text(rule.get("tool", "*"), "The tool pattern", MAX_GLOB_CHARS),
        starter=_starter(rule.get("starter", {})),
        conditions=_conditions(rule.get("arguments", [])),
        claims=_claims(rule.get("claims", {})),
        ask=read_ask(rule["ask"]) if "ask" in rule else DEFAULT_ASK,
    )


def read_ask(raw: object) -> Ask:
    """The part of a rule that says who decides. Raises BadRule."""
    known = ("audience", "people", "quorum", "four_eyes", "deadline_s", "at_deadline")
    ask = _object(raw, "What to ask", known)
    read = Ask(
        audience=_word(Audience, ask.get("audience", "approvers"), "Who decides"),
        people=_people(ask.get("people", [])),
        quorum=_whole(ask.get("quorum", 1), "How many must approve", 1, MAX_QUORUM),
        four_eyes=_yes_or_no(ask.get("four_eyes", True), "Four eyes"),
        deadline_s=_deadline(ask.get("deadline_s")),
        at_deadline=_word(AtDeadline, ask.get("at_deadline", "expire"), "What happens then"),
    )
    _check_possible(read)
    return read


def read_path(text: object) -> tuple[str, ...]:
    """Where a value stands: "options.region", or a JSON pointer "/a.b/0" (RFC 6901)."""
    path = _text(text, "The path of a condition", MAX_GLOB_CHARS)
    if path.startswith("/"):
        return tuple(step.replace("~1", "/").replace("~0", "~") for step in path[1:].split("/"))
    if not _STEPS.fullmatch(path):
        raise BadRule("A path is written options.region, or as a JSON pointer /options/region.")
    return tuple(path.split("."))


def _check_possible(ask: Ask) -> None:
    """Refuse what nobody could ever decide."""
    if ask.audience is Audience.REQUESTER and ask.four_eyes:
        raise BadRule(
            "With four eyes whoever started it cannot approve it: put it to somebody else, "
            "or leave four eyes out."
        )
    if ask.audience is Audience.REQUESTER and ask.quorum > 1:
        raise BadRule("Whoever started it is one person: two cannot be asked for.")
    if ask.audience is Audience.PEOPLE and len(ask.people) < ask.quorum:
        raise BadRule("Name at least as many people as must approve.")


def _starter(raw: object) -> Starter:
    starter = _object(raw, "Who starts", ("kind", "roles", "people"))
    kind = _word(StarterKind, starter.get("kind", "anyone"), "Who starts")
    roles = starter.get("roles", [])
    if not isinstance(roles, list) or any(role not in _ROLES for role in roles):
        raise BadRule("Who starts names a role that there is not.")
    read = Starter(kind, tuple(roles), _people(starter.get("people", [])))
    if kind is StarterKind.ROLE and not read.roles:
        raise BadRule("Choose at least one role for who starts it.")
    if kind is StarterKind.PEOPLE and not read.people:
        raise BadRule("Choose at least one person for who starts it.")
    return read


def _conditions(raw: object) -> tuple[Condition, ...]:
    if not isinstance(raw, list) or len(raw) > MAX_CONDITIONS:
        raise BadRule(f"The conditions are a list of at most {MAX_CONDITIONS}.")
    return tuple(_condition(one) for one in raw)


def _condition(raw: object) -> Condition:
    one = _object(raw, "A condition", ("path", "op", "value"))
    operator = _word(Operator, one.get("op"), "What a condition compares")
    if "value" not in one:
        raise BadRule("A condition has no value to compare with.")
    _check_operand(operator, one["value"])
    return Condition(read_path(one.get("path")), operator, one["value"])


def _check_operand(operator: Operator, value: object) -> None:
    if operator is Operator.IN and not (isinstance(value, list) and value):
        raise BadRule("“in” compares with a list of values.")
    if operator is Operator.EXISTS:
        _yes_or_no(value, "“exists”")
    if operator in (Operator.GREATER, Operator.LESS) and not is_number(value):
        raise BadRule(f"“{operator}” compares with a number.")
    if operator is Operator.MATCHES:
        check_pattern(value)


def check_pattern(value: object) -> None:
    """Refuse a regular expression that cannot be run."""
    pattern = _text(value, "A regular expression", MAX_PATTERN_CHARS)
    try:
        Patterns(Budget.start()).matches(pattern, "")
    except (FieldRefused, OutOfTime):
        raise BadRule("A regular expression of this rule cannot be run.") from None


def is_number(value: object) -> bool:
    """A JSON number; to Python true and false are numbers too."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _claims(raw: object) -> tuple[tuple[str, bool], ...]:
    claims = _object(raw, "The annotations", HINTS)
    return tuple((hint, _yes_or_no(value, "An annotation")) for hint, value in claims.items())


def _object(raw: object, what: str, known: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(raw, dict):
        raise BadRule(f"{what} cannot be read.")
    if raw.keys() - set(known):
        raise BadRule(f"{what} says something that this desk does not know.")
    return raw


def _text(raw: object, what: str, most: int) -> str:
    if not isinstance(raw, str) or not 0 < len(raw) <= most or not storable(raw):
        raise BadRule(f"{what} has 1 to {most} characters.")
    return raw


def _word(words: type[WordT], raw: object, what: str) -> WordT:
    if not isinstance(raw, str) or raw not in list(words):
        raise BadRule(f"{what} is one of: {', '.join(words)}.")
    return words(raw)


def _whole(raw: object, what: str, least: int, most: int) -> int:
    if not isinstance(raw, int) or isinstance(raw, bool) or not least <= raw <= most:
        raise BadRule(f"{what} is a whole number from {least} to {most}.")
    return raw


def _deadline(raw: object) -> int | None:
    return None if raw is None else _whole(raw, "The deadline (s)", MIN_DEADLINE_S, MAX_DEADLINE_S)


def _yes_or_no(raw: object, what: str) -> bool:
    if not isinstance(raw, bool):
        raise BadRule(f"{what} is true or false.")
    return raw


def _people(raw: object) -> tuple[int, ...]:
    if not isinstance(raw, list) or any(
        not isinstance(one, int) or isinstance(one, bool) for one in raw
    ):
        raise BadRule("People are named by their ids.")
    return tuple(dict.fromkeys(raw))

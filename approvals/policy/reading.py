"""From JSON to a rule: strict, since what is not understood must not be passed over."""

import json
import re
from typing import Final

from approvals.policy.checks import (
    a_text,
    a_word,
    an_object,
    is_number,
    nests_deeper,
    people,
    yes_or_no,
)
from approvals.policy.model import (
    DEFAULT_ASK,
    BadRule,
    Condition,
    Effect,
    Operator,
    Rule,
    Starter,
    StarterKind,
)
from approvals.policy.reading_ask import read_ask, read_questions
from approvals.schema_form.budget import Budget, OutOfTime
from approvals.schema_form.model import FieldRefused
from approvals.schema_form.patterns import Patterns

MAX_NAME_CHARS: Final = 80
MAX_GLOB_CHARS: Final = 256
MAX_CONDITIONS: Final = 20
MAX_PATTERN_CHARS: Final = 500
MAX_VALUE_DEPTH: Final = 20
#: The annotations of a tool that a rule may look at (ToolAnnotations in the schema).
HINTS: Final = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_ROLES: Final = ("viewer", "approver", "operator", "auditor", "admin")
_PARTS: Final = (
    "name",
    "effect",
    "server",
    "tool",
    "starter",
    "arguments",
    "claims",
    "ask",
    "questions",
    "repairs_need_two",
)
_STEPS: Final = re.compile(r"[^.]+(?:\.[^.]+)*")


def read_rule(raw: object) -> Rule:
    """One rule as it is stored. Raises BadRule for anything that is not exactly a rule."""
    rule = an_object(raw, "The rule", _PARTS)
    questions = rule.get("questions")
    return Rule(
        name=a_text(rule.get("name"), "The name", MAX_NAME_CHARS),
        effect=a_word(Effect, rule.get("effect"), "The effect"),
        server=a_text(rule.get("server", "*"), "The server pattern", MAX_GLOB_CHARS),
        tool=a_text(rule.get("tool", "*"), "The tool pattern", MAX_GLOB_CHARS),
        starter=_starter(rule.get("starter", {})),
        conditions=_conditions(rule.get("arguments", [])),
        claims=_claims(rule.get("claims", {})),
        ask=read_ask(rule["ask"]) if "ask" in rule else DEFAULT_ASK,
        questions=None if questions is None else read_questions(questions),
        repairs_need_two=yes_or_no(rule.get("repairs_need_two", False), "“Repairs need two”"),
    )


def read_path(text: object) -> tuple[str, ...]:
    """Where a value stands: "options.region", or a JSON pointer "/a.b/0" (RFC 6901)."""
    path = a_text(text, "The path of a condition", MAX_GLOB_CHARS)
    if path.startswith("/"):
        return tuple(step.replace("~1", "/").replace("~0", "~") for step in path[1:].split("/"))
    if not _STEPS.fullmatch(path):
        raise BadRule("A path is written options.region, or as a JSON pointer /options/region.")
    return tuple(path.split("."))


def _starter(raw: object) -> Starter:
    starter = an_object(raw, "Who starts", ("kind", "roles", "people"))
    kind = a_word(StarterKind, starter.get("kind", "anyone"), "Who starts")
    roles = starter.get("roles", [])
    if not isinstance(roles, list) or any(role not in _ROLES for role in roles):
        raise BadRule("Who starts names a role that there is not.")
    read = Starter(kind, tuple(roles), people(starter.get("people", [])))
    if kind is StarterKind.ROLE and not read.roles:
        raise BadRule("Choose at least one role for who starts it.")
    if kind is StarterKind.PEOPLE and not read.people:
        raise BadRule("Choose at least one person for who starts it.")
    return read


def _conditions(raw: object) -> tuple[Condition, ...]:
    if not isinstance(raw, list) or len(raw) > MAX_CONDITIONS:
        raise BadRule(f"The conditions are a list of at most {MAX_CONDITIONS}.")
    return tuple(read_condition(one) for one in raw)


def read_condition(raw: object) -> Condition:
    """One condition on the arguments; raises BadRule with what is wrong with it."""
    one = an_object(raw, "A condition", ("path", "op", "value"))
    operator = a_word(Operator, one.get("op"), "What a condition compares")
    if "value" not in one:
        raise BadRule("A condition has no value to compare with.")
    if nests_deeper(one["value"], MAX_VALUE_DEPTH):
        raise BadRule(f"A condition compares with a value nested at most {MAX_VALUE_DEPTH} deep.")
    _check_sendable(one["value"])
    _check_operand(operator, one["value"])
    return Condition(read_path(one.get("path")), operator, one["value"])


def _check_sendable(value: object) -> None:
    """Refuse what no argument can be, and no page and no file could show."""
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except ValueError:
        raise BadRule("A condition compares with a value of JSON, in valid Unicode.") from None


def _check_operand(operator: Operator, value: object) -> None:
    if operator is Operator.IN and not (isinstance(value, list) and value):
        raise BadRule("“in” compares with a list of values.")
    if operator is Operator.EXISTS:
        yes_or_no(value, "“exists”")
    if operator in (Operator.GREATER, Operator.LESS) and not is_number(value):
        raise BadRule(f"“{operator}” compares with a number.")
    if operator is Operator.MATCHES:
        check_pattern(value)


def check_pattern(value: object) -> None:
    """Refuse a regular expression that cannot be run."""
    pattern = a_text(value, "A regular expression", MAX_PATTERN_CHARS)
    try:
        Patterns(Budget.start()).matches(pattern, "")
    except (FieldRefused, OutOfTime):
        raise BadRule("A regular expression of this rule cannot be run.") from None


def _claims(raw: object) -> tuple[tuple[str, bool], ...]:
    claims = an_object(raw, "The annotations", HINTS)
    return tuple((hint, yes_or_no(value, "An annotation")) for hint, value in claims.items())

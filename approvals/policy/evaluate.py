"""The first rule that matches decides; what goes wrong on the way asks."""

import fnmatch
import re
from collections.abc import Callable
from typing import Any, Final

from approvals.policy.checks import is_number
from approvals.policy.model import (
    DEFAULT_ASK,
    BadRule,
    Condition,
    Effect,
    Gate,
    Operator,
    Request,
    Rule,
    Starter,
    StarterKind,
)
from approvals.policy.reading import read_rule
from approvals.schema_form.budget import Budget, OutOfTime
from approvals.schema_form.model import FieldRefused
from approvals.schema_form.patterns import Patterns

_UNEXPECTED: Final = "It could not be applied to this call."
_MISSING: Final = object()
#: What `.` does not match (ECMA-262, LineTerminator).
_LINE_END: Final = re.compile("[\n\r\u2028\u2029]")
#: Deeper than this two values are not compared.
_MAX_DEPTH: Final = 100


def gate(rules: object, request: Request) -> Gate:
    """What the policy says of this request. Never raises, and never allows by an error.

    `rules`: the team's rules in order, each as reading.read_rule() takes it. The work is bounded
    (regular expressions share one allowance of time).
    """
    if not isinstance(rules, list | tuple):
        return _asked(error="The team's rules cannot be read.")
    patterns = Patterns(Budget.start())
    for number, raw in enumerate(rules, start=1):
        try:
            rule = read_rule(raw)
            if _matches(rule, request, patterns):
                return _found(rule, number)
        except BadRule as bad:
            return _asked(_name(raw), number, bad.sentence)
        except Exception:
            # whatever it was (a value nested without end, say): it must not decide by itself
            return _asked(_name(raw), number, _UNEXPECTED)
    return _asked()


def _found(rule: Rule, number: int) -> Gate:
    ask = rule.ask if rule.effect is Effect.ASK else None
    return Gate(
        rule.effect,
        rule.name,
        number,
        ask,
        questions=rule.questions,
        repairs_need_two=rule.repairs_need_two,
    )


def _asked(rule: str | None = None, number: int | None = None, error: str | None = None) -> Gate:
    """What a rule that failed would have said of questions and of repairs is not known: questions
    go to others too, and repairs take two.
    """
    failed = error is not None
    questions = DEFAULT_ASK if failed else None
    return Gate(Effect.ASK, rule, number, DEFAULT_ASK, error, questions, repairs_need_two=failed)


def _name(raw: object) -> str | None:
    name = raw.get("name") if isinstance(raw, dict) else None
    return name if isinstance(name, str) else None


def _matches(rule: Rule, request: Request, patterns: Patterns) -> bool:
    return (
        _like(request.server, rule.server)
        and _like(request.tool, rule.tool)
        and _is_started_by(rule.starter, request)
        and _claims(rule.claims, request.annotations)
        and all(_holds(condition, request.arguments, patterns) for condition in rule.conditions)
    )


def _like(name: str, pattern: str) -> bool:
    """`*` is any text, `?` one character, everything else itself."""
    return fnmatch.fnmatchcase(name, pattern.replace("[", "[[]"))


def _is_started_by(starter: Starter, request: Request) -> bool:
    if starter.kind is StarterKind.ANYONE:
        return True
    if starter.kind is StarterKind.SERVICE:
        return request.user_id is None
    if request.user_id is None:
        return False
    if starter.kind is StarterKind.ROLE:
        return request.role in starter.roles
    return request.user_id in starter.people


def _claims(wanted: tuple[tuple[str, bool], ...], annotations: Any) -> bool:
    """Only what the server says in so many words; the protocol's defaults are no claims."""
    if not wanted:
        return True
    if not isinstance(annotations, dict):
        return False
    return all(annotations.get(hint) is value for hint, value in wanted)


def _holds(condition: Condition, arguments: Any, patterns: Patterns) -> bool:
    found = _at(arguments, condition.path)
    if condition.operator is Operator.EXISTS:
        return (found is not _MISSING) is condition.value
    if found is _MISSING:
        return False
    return _COMPARE[condition.operator](found, condition.value, patterns)


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        if isinstance(value, dict):
            value = value.get(step, _MISSING)
        elif isinstance(value, list) and step.isascii() and step.isdigit() and len(step) < 7:
            value = value[int(step)] if int(step) < len(value) else _MISSING
        else:
            return _MISSING
    return value


def _equals(found: Any, value: Any, _: Patterns) -> bool:
    return same(found, value)


def _in(found: Any, values: Any, _: Patterns) -> bool:
    return any(same(found, value) for value in values)


def _regex(found: Any, pattern: Any, patterns: Patterns) -> bool:
    """The whole text matches. A value of another kind is an error: it could mean the same.

    So is one that would match without its line ends, which `.` does not speak of: nothing slips
    past ".*DROP.*" on a second line.
    """
    if not isinstance(found, str):
        raise BadRule("It compares text, and the argument is something else.")
    whole = f"^(?:{pattern})$"
    try:
        if patterns.matches(whole, found):
            return True
        in_one_line = _LINE_END.sub(" ", found)
        if in_one_line != found and patterns.matches(whole, in_one_line):
            raise BadRule(
                "Its regular expression speaks of one line, and the argument has several."
            )
    except (FieldRefused, OutOfTime):
        raise BadRule("Its regular expression took too long.") from None
    return False


def _greater(found: Any, limit: Any, _: Patterns) -> bool:
    return bool(_number(found) > limit)


def _less(found: Any, limit: Any, _: Patterns) -> bool:
    return bool(_number(found) < limit)


def _number(found: Any) -> Any:
    """A server may take "5000" for 5000: what is no number must not slip past a limit."""
    if not is_number(found) or found != found:
        raise BadRule("It compares numbers, and the argument is something else.")
    return found


_COMPARE: Final[dict[Operator, Callable[[Any, Any, Patterns], bool]]] = {
    Operator.EQUALS: _equals,
    Operator.IN: _in,
    Operator.MATCHES: _regex,
    Operator.GREATER: _greater,
    Operator.LESS: _less,
}


def same(one: Any, other: Any, depth: int = 0) -> bool:
    """Equal as JSON: 1 and 1.0 are, 1 and true are not."""
    if depth > _MAX_DEPTH:
        raise BadRule("The argument nests too deeply to be compared.")
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(
            same(one[name], other[name], depth + 1) for name in one
        )
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(
            same(a, b, depth + 1) for a, b in zip(one, other, strict=True)
        )
    return bool(one == other)

"""What a rule and a gate say, in words."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from approvals.policy.model import (
    Ask,
    AtDeadline,
    Audience,
    Condition,
    Effect,
    Gate,
    Operator,
    Rule,
    Starter,
    StarterKind,
)

_GROUPS = {
    Audience.REQUESTER: "whoever starts it",
    Audience.APPROVERS: "the team's approvers",
    Audience.ADMINS: "the team's admins",
    Audience.PEOPLE: "named people",
}
_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


def explain(gate: Gate) -> str:
    """ "ask one of the team's approvers ..., because rule 3 (Deploys) says so": ends with a dot."""
    return f"{_what(gate)}, {_why(gate)}."


def who(ask: Ask) -> str:
    """Whom a gate asks, and how many of them."""
    if ask.audience is Audience.REQUESTER:
        return "whoever starts it"
    count = "one" if ask.quorum == 1 else str(ask.quorum)
    return f"{count} of {_GROUPS[ask.audience]}"


def span(seconds: int) -> str:
    """A span of time in the largest unit that fits it exactly."""
    size, unit = next(one for one in _UNITS if seconds % one[0] == 0)
    count = seconds // size
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"


def _what(gate: Gate, names: Mapping[int, str] | None = None) -> str:
    if gate.effect is Effect.ALLOW:
        return "run at once"
    if gate.effect is Effect.DISABLED or gate.ask is None:
        return "be refused"
    parts = ["ask " + _asked(gate.ask, names)]
    if gate.ask.remember:
        parts.append("unless such a call was approved before and that is remembered")
    return ", ".join(parts)


def _asked(ask: Ask, names: Mapping[int, str] | None) -> str:
    """Who is asked, until when, and who is asked later."""
    parts = [who(ask) + _named_if(ask.audience, ask.people, names)]
    if ask.four_eyes:
        parts.append("not whoever starts it")
    parts += [
        f"after {span(step.after_s)} also {_GROUPS[step.audience]}"
        + _named_if(step.audience, step.people, names)
        for step in ask.escalation
    ]
    if ask.deadline_s is not None:
        ends = "is denied" if ask.at_deadline is AtDeadline.DENY else "expires"
        parts.append(f"within {span(ask.deadline_s)} (then it {ends})")
    return ", ".join(parts)


def _named_if(audience: Audience, people: tuple[int, ...], names: Mapping[int, str] | None) -> str:
    if names is None or audience is not Audience.PEOPLE:
        return ""
    return f" ({_named(people, names)})"


def answering(questions: Ask | None, names: Mapping[int, str] | None = None) -> str:
    """Who answers what the server asks during the call, as a sentence; empty: nothing is said."""
    if questions is None:
        return ""
    return f"What the server asks meanwhile is answered by {_asked(questions, names)}."


REPAIRS_NEED_TWO: Final = "A repair of such a call, should it break, takes a second person."


def _why(gate: Gate) -> str:
    rule = f"rule {gate.number}" + (f" ({gate.rule})" if gate.rule else "")
    if gate.error:
        return f"because {rule if gate.number else 'the policy'} could not be applied"
    return f"because {rule} says so" if gate.number else "because no rule says anything of it"


def describe(rule: Rule, names: Mapping[int, str]) -> str:
    """When a rule matches, in a sentence without its end; `names` of the people it may name."""
    parts = [f"{_starters(rule.starter, names)} calls {_target(rule)}"]
    parts += [_condition(condition) for condition in rule.conditions]
    parts += [f"the server claims {hint} {json.dumps(value)}" for hint, value in rule.claims]
    return ", and ".join(parts)


def consequence(rule: Rule, names: Mapping[int, str]) -> str:
    """What a rule gives, in the words of explain()."""
    return _what(Gate(rule.effect, ask=rule.ask if rule.effect is Effect.ASK else None), names)


@dataclass(frozen=True, slots=True)
class Sentences:
    """A rule in words: when it matches, what it gives, who answers what the server asks, and what
    a repair takes.
    """

    when: str
    then: str
    answering: str
    repairs: str


def in_words(rule: Rule, names: Mapping[int, str]) -> Sentences:
    """The whole rule in words; `names` of the people it may name."""
    questions = None if rule.effect is Effect.DISABLED else rule.questions
    return Sentences(
        describe(rule, names),
        consequence(rule, names),
        answering(questions, names),
        REPAIRS_NEED_TWO if rule.repairs_need_two and rule.effect is not Effect.DISABLED else "",
    )


def _starters(starter: Starter, names: Mapping[int, str]) -> str:
    if starter.kind is StarterKind.ROLE:
        return f"somebody who is {' or '.join(starter.roles)}"
    if starter.kind is StarterKind.PEOPLE:
        return _named(starter.people, names)
    return "a service" if starter.kind is StarterKind.SERVICE else "anybody"


def _named(people: tuple[int, ...], names: Mapping[int, str]) -> str:
    return ", ".join(names.get(one, "somebody who left") for one in people)


def _target(rule: Rule) -> str:
    tool = "any tool" if rule.tool == "*" else rule.tool
    return f"{tool} on {'any server' if rule.server == '*' else rule.server}"


def _condition(condition: Condition) -> str:
    path = "/".join(condition.path)
    if condition.operator is Operator.EXISTS:
        return f"{path} is {'there' if condition.value else 'not there'}"
    return (
        f"{path} {_COMPARES[condition.operator]} {json.dumps(condition.value, ensure_ascii=False)}"
    )


_COMPARES = {
    Operator.EQUALS: "equals",
    Operator.IN: "is one of",
    Operator.MATCHES: "as a whole matches",
    Operator.GREATER: "is greater than",
    Operator.LESS: "is less than",
}

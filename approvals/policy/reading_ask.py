"""From JSON to whom a rule asks: before a call, and what the server asks during one."""

from itertools import pairwise
from typing import Final

from approvals.policy.checks import a_list, a_whole, a_word, an_object, people, yes_or_no
from approvals.policy.model import Ask, AtDeadline, Audience, BadRule, Step

MAX_QUORUM: Final = 20
MIN_DEADLINE_S: Final = 60
MAX_DEADLINE_S: Final = 90 * 24 * 3600
MAX_STEPS: Final = 3
_KNOWN: Final = (
    "audience",
    "people",
    "quorum",
    "four_eyes",
    "deadline_s",
    "at_deadline",
    "escalation",
    "remember",
)


def read_ask(raw: object) -> Ask:
    """The part of a rule that says who decides. Raises BadRule."""
    ask = an_object(raw, "What to ask", _KNOWN)
    read = Ask(
        audience=a_word(Audience, ask.get("audience", "approvers"), "Who decides"),
        people=people(ask.get("people", [])),
        quorum=a_whole(ask.get("quorum", 1), "How many must approve", 1, MAX_QUORUM),
        four_eyes=yes_or_no(ask.get("four_eyes", True), "Four eyes"),
        deadline_s=_deadline(ask.get("deadline_s")),
        at_deadline=a_word(AtDeadline, ask.get("at_deadline", "expire"), "What happens then"),
        escalation=tuple(
            _step(one) for one in a_list(ask.get("escalation", []), "The steps", MAX_STEPS)
        ),
        remember=yes_or_no(ask.get("remember", False), "Whether decisions are remembered"),
    )
    _check_possible(read)
    _check_steps(read)
    return read


def read_questions(raw: object) -> Ask:
    """The part of a rule that says who answers what a server asks. Raises BadRule.

    As read_ask(), without four eyes where nothing is said of it. A clock never says no to a
    server, and an answer is never remembered.
    """
    read = read_ask({"four_eyes": False, **an_object(raw, "Who answers", _KNOWN)})
    if read.at_deadline is not AtDeadline.EXPIRE:
        raise BadRule("What a server asks can only expire: no clock answers it.")
    if read.remember:
        raise BadRule("An answer to a server is never remembered.")
    return read


def _deadline(raw: object) -> int | None:
    if raw is None:
        return None
    return a_whole(raw, "The deadline (s)", MIN_DEADLINE_S, MAX_DEADLINE_S)


def _step(raw: object) -> Step:
    step = an_object(raw, "A step", ("after_s", "audience", "people"))
    return Step(
        after_s=a_whole(step.get("after_s"), "When a step comes (s)", 1, MAX_DEADLINE_S),
        audience=a_word(Audience, step.get("audience"), "Whom a step asks"),
        people=people(step.get("people", [])),
    )


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


def _check_steps(ask: Ask) -> None:
    """Refuse steps that would never come, or would ask nobody new."""
    times = [step.after_s for step in ask.escalation]
    if any(one >= other for one, other in pairwise(times)):
        raise BadRule("Each step comes later than the one before it.")
    if times and ask.deadline_s is not None and times[-1] >= ask.deadline_s:
        raise BadRule("The steps come before the deadline.")
    for step in ask.escalation:
        if step.audience is Audience.REQUESTER and ask.four_eyes:
            raise BadRule("With four eyes no step can ask whoever started it.")
        if step.audience is Audience.PEOPLE and not step.people:
            raise BadRule("Name at least one person for each step that asks named people.")

"""What a gate says, in a sentence."""

from approvals.policy.model import Ask, AtDeadline, Audience, Effect, Gate

_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


def explain(gate: Gate) -> str:
    """ "ask one of the team's approvers ..., because rule 3 (Deploys) says so": ends with a dot."""
    return f"{_what(gate)}, {_why(gate)}."


def who(ask: Ask) -> str:
    """Whom a gate asks, and how many of them."""
    if ask.audience is Audience.REQUESTER:
        return "whoever starts it"
    group = "the team's approvers" if ask.audience is Audience.APPROVERS else "named people"
    count = "one" if ask.quorum == 1 else str(ask.quorum)
    return f"{count} of {group}"


def span(seconds: int) -> str:
    """A span of time in the largest unit that fits it exactly."""
    size, unit = next(one for one in _UNITS if seconds % one[0] == 0)
    count = seconds // size
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"


def _what(gate: Gate) -> str:
    if gate.effect is Effect.ALLOW:
        return "run at once"
    if gate.effect is Effect.DISABLED or gate.ask is None:
        return "be refused"
    parts = [f"ask {who(gate.ask)}"]
    if gate.ask.four_eyes:
        parts.append("not whoever starts it")
    if gate.ask.deadline_s is not None:
        ends = "denied" if gate.ask.at_deadline is AtDeadline.DENY else "expired"
        parts.append(f"within {span(gate.ask.deadline_s)} (then it is {ends})")
    return ", ".join(parts)


def _why(gate: Gate) -> str:
    rule = f"rule {gate.number}" + (f" ({gate.rule})" if gate.rule else "")
    if gate.error:
        return f"because {rule if gate.number else 'the policy'} could not be applied"
    return f"because {rule} says so" if gate.number else "because no rule says anything of it"

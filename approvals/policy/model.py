"""What a policy is made of. Values only."""

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Final


class BadRule(ValueError):
    """A rule that cannot be read or applied. `sentence` says why, without any argument's value."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class Effect(StrEnum):
    DISABLED = "disabled"
    ASK = "ask"
    ALLOW = "allow"


class Audience(StrEnum):
    """Who may decide; the same words as approvals.models.Audience."""

    REQUESTER = "requester"
    APPROVERS = "approvers"
    ADMINS = "admins"
    PEOPLE = "people"


class AtDeadline(StrEnum):
    """What happens when nobody has decided in time. There is no third choice: never allow."""

    EXPIRE = "expire"
    DENY = "deny"


class StarterKind(StrEnum):
    ANYONE = "anyone"
    ROLE = "role"
    PEOPLE = "people"
    SERVICE = "service"


class Operator(StrEnum):
    EQUALS = "equals"
    IN = "in"
    MATCHES = "matches"
    GREATER = "greater"
    LESS = "less"
    EXISTS = "exists"


@dataclass(frozen=True, slots=True)
class Step:
    """Who is asked as well once it has waited for `after_s` seconds."""

    after_s: int
    audience: Audience
    people: tuple[int, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """As reading_ask.read_ask() takes it."""
        return {
            "after_s": self.after_s,
            "audience": self.audience.value,
            "people": list(self.people),
        }


@dataclass(frozen=True, slots=True)
class Ask:
    """Who is asked, how many must approve, and until when. `deadline_s` None: without a limit.

    `escalation` in order of time. `remember`: a decision may count for later calls too.
    """

    audience: Audience = Audience.APPROVERS
    people: tuple[int, ...] = ()
    quorum: int = 1
    four_eyes: bool = True
    deadline_s: int | None = None
    at_deadline: AtDeadline = AtDeadline.EXPIRE
    escalation: tuple[Step, ...] = ()
    remember: bool = False

    @property
    def named(self) -> set[int]:
        """Everybody it names, now or in a later step."""
        return {*self.people, *(one for step in self.escalation for one in step.people)}

    def as_json(self) -> dict[str, Any]:
        """As reading_ask.read_ask() takes it."""
        return {
            **asdict(self),
            "audience": self.audience.value,
            "people": list(self.people),
            "at_deadline": self.at_deadline.value,
            "escalation": [step.as_json() for step in self.escalation],
        }


#: What happens where no rule says anything, or a rule fails: one approver who did not start it,
#: within a week.
DEFAULT_ASK: Final = Ask(deadline_s=7 * 24 * 3600)


@dataclass(frozen=True, slots=True)
class Starter:
    """Whom a rule is about."""

    kind: StarterKind = StarterKind.ANYONE
    roles: tuple[str, ...] = ()
    people: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition on the arguments; `path` leads from the whole object to the value."""

    path: tuple[str, ...]
    operator: Operator
    value: Any = None


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; it matches when everything in it does."""

    name: str
    effect: Effect
    server: str = "*"
    tool: str = "*"
    starter: Starter = Starter()
    conditions: tuple[Condition, ...] = ()
    # annotations of the tool that must stand exactly so; they are the server's claims
    claims: tuple[tuple[str, bool], ...] = ()
    ask: Ask = DEFAULT_ASK
    # who answers what the server asks during such a call; None: as the server's setting says
    questions: Ask | None = None
    # what becomes of such a call that broke takes a second person's word
    repairs_need_two: bool = False

    @property
    def named(self) -> set[int]:
        """The ids of everybody the rule names."""
        answer = self.questions.named if self.questions else set()
        return {*self.starter.people, *self.ask.named, *answer}


@dataclass(frozen=True, slots=True)
class Request:
    """One call somebody wants to make. `user_id` None: a service. All texts are untrusted."""

    server: str
    tool: str
    arguments: Any
    user_id: int | None
    role: str = ""
    annotations: Any = field(default=None)


@dataclass(frozen=True, slots=True)
class Gate:
    """What the policy says of one request.

    `rule` and `number` (from 1) name the rule that decided, None where none did; `ask` is set for
    ASK only; `error` is a sentence for admins where a rule could not be applied. `questions`: who
    answers what the server asks during the call, None where no rule says. `repairs_need_two`: an
    operator who decides what became of it, should it break, needs a second person.
    """

    effect: Effect
    rule: str | None = None
    number: int | None = None
    ask: Ask | None = None
    error: str | None = None
    questions: Ask | None = None
    repairs_need_two: bool = False

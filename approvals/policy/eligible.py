"""Who could decide what a policy asks, and why the others could not. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from approvals.policy.model import Ask, Audience
from approvals.policy.words import span

_GROUPS: Final = {Audience.APPROVERS: "the team's approvers", Audience.ADMINS: "the team's admins"}


@dataclass(frozen=True, slots=True)
class Person:
    """A member at that moment. `decides`: the role allows it at all; `groups` it belongs to."""

    user_id: int
    role: str
    decides: bool
    groups: frozenset[Audience]


@dataclass(frozen=True, slots=True)
class Away:
    """Somebody who was away at that moment, and who stood in."""

    user_id: int
    stand_in: int


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether a person could decide at once, and why (a clause without its end).

    `stands_in_for`: the ids of those in whose place; empty: in their own right, or not at all.
    `after_s`: not at once, but so many seconds later, when the question goes to more people.
    """

    user_id: int
    may: bool
    why: str
    stands_in_for: tuple[int, ...] = ()
    after_s: int | None = None


def standings(
    ask: Ask,
    started_by: int | None,
    people: Sequence[Person],
    away: Iterable[Away],
    made_token: int | None = None,
) -> list[Standing]:
    """Everybody's standing towards one question, in the order of `people`.

    `made_token`: who made the token of the service that started it, where no person did.
    """
    asking = _Asking(ask, started_by, tuple(people), tuple(away), made_token)
    return [asking.standing(person) for person in people]


@dataclass(frozen=True, slots=True)
class _Asking:
    ask: Ask
    started_by: int | None
    people: tuple[Person, ...]
    away: tuple[Away, ...]
    made_token: int | None

    def standing(self, person: Person) -> Standing:
        if not person.decides:
            return Standing(person.user_id, False, f"the role {person.role} decides nothing")
        if self._barred(person):
            started = person.user_id == self.started_by
            did = "started it" if started else "made the token of the service that started it"
            return Standing(person.user_id, False, f"four eyes: they {did}")
        why = self._asked(person, self.ask.audience, self.ask.people)
        if why:
            return Standing(person.user_id, True, why)
        stands_in_for = self._in_place_of(person, self.ask.audience, self.ask.people)
        if stands_in_for:
            return Standing(person.user_id, True, "stands in", stands_in_for)
        return self._later(person)

    def _later(self, person: Person) -> Standing:
        for step in self.ask.escalation:
            why = self._asked(person, step.audience, step.people)
            stands_in_for = () if why else self._in_place_of(person, step.audience, step.people)
            if why or stands_in_for:
                later = f"only after {span(step.after_s)}: {why or 'stands in'}"
                return Standing(person.user_id, False, later, stands_in_for, step.after_s)
        return Standing(person.user_id, False, f"it is put to others, and they are {person.role}")

    def _barred(self, person: Person) -> bool:
        return self.ask.four_eyes and person.user_id in (self.started_by, self.made_token)

    def _asked(self, person: Person, audience: Audience, named: tuple[int, ...]) -> str:
        """Why it is put to this very person; empty: it is not."""
        if not person.decides or self._barred(person):
            return ""
        if audience is Audience.PEOPLE:
            return "named by the rule" if person.user_id in named else ""
        if audience is Audience.REQUESTER:
            return "started it" if person.user_id == self.started_by else ""
        return f"one of {_GROUPS[audience]}" if audience in person.groups else ""

    def _in_place_of(
        self, person: Person, audience: Audience, named: tuple[int, ...]
    ) -> tuple[int, ...]:
        asked = {one.user_id for one in self.people if self._asked(one, audience, named)}
        return tuple(
            one.user_id
            for one in self.away
            if one.stand_in == person.user_id and one.user_id in asked
        )

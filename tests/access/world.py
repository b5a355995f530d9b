"""Two teams with everything a team can have, a mark in every private field, and all the actors."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

from django.utils import timezone

from approvals import binding
from approvals.models import (
    Approval,
    Look,
)
from mcpdesk.accounts.models import Role, User
from tests.access import actors, belongings, carried
from tests.access.actors import (
    EVERYBODY,
    VISITOR,
    Actor,
)
from tests.access.household import Household
from tests.access.planted import Garden
from tests.factories import (
    MembershipFactory,
    TeamFactory,
)


@dataclass(slots=True)
class World:
    """`here` is the team of the matrix; `elsewhere` the one of the foreigners."""

    here: Household
    elsewhere: Household
    cast: dict[str, Actor]
    garden: Garden

    @classmethod
    def make(cls) -> "World":
        garden = Garden()
        teams = [TeamFactory(name="Here"), TeamFactory(name="Elsewhere")]
        cast = actors.cast(*teams)
        here = Household(teams[0], garden, EVERYBODY)
        here.people = {role: _user(cast[role]) for role in EVERYBODY}
        elsewhere = Household(teams[1], garden, (actors.FOREIGNER, VISITOR))
        elsewhere.people = dict.fromkeys(EVERYBODY, _user(cast[actors.FOREIGNER]))
        for household in (here, elsewhere):
            furnish(household)
        _everything_was_opened(cast.values())
        return cls(here, elsewhere, cast, garden)

    def token(self, actor: Actor, thing: str) -> str:
        """What the desk would have put into the form of this item for this person."""
        approval = Approval.objects.get(pk=self.here.ids[thing])
        user_id = actor.user.pk if actor.user else 0
        return binding.bind(approval, user_id=user_id, now=timezone.now())


def _everything_was_opened(cast: Iterable[Actor]) -> None:
    """Who opens an item for the first time is noted; from then on a GET has nothing to write."""
    pairs = product(Approval.objects.all(), [actor.user for actor in cast if actor.user])
    now = timezone.now()
    Look.objects.bulk_create(Look(approval=item, user=user, at=now) for item, user in pairs)


def _user(actor: Actor) -> User:
    assert actor.user is not None
    return actor.user


def furnish(household: Household) -> None:
    """Everything there is in a team, once."""
    colleague = MembershipFactory(
        team=household.team, role=Role.APPROVER, user__name=household.name("person")
    )
    household.people["colleague"] = colleague.user
    household.ids |= {"team": household.team.pk, "member": colleague.pk}
    household.ids["person"] = colleague.user_id
    belongings.away(household)
    server = belongings.add_server(household)
    belongings.rules(household)
    carried.asked(household, server)
    carried.claimed(household, server)
    carried.link(household, server)
    carried.asked_of_others(household, server)
    carried.completed(household, server)
    carried.of_the_viewer(household, server)
    carried.unknown(household, server)
    carried.broken(household, server)
    carried.gate(household, server)
    carried.remembered(household, server)
    belongings.lists(household)
    belongings.exported(household)
    belongings.notices(household)
    belongings.tokens(household)
    belongings.held(household)
    belongings.kept_for_a_court(household)
    belongings.support(household)
    belongings.session(household)

"""Everybody who can come to an address: each role, people of elsewhere, and people of nowhere."""

from dataclasses import dataclass

from django.test import Client

from mcpdesk.accounts.models import Role, Team, User
from mcpdesk.accounts.sessions import TEAM_KEY
from tests.factories import MembershipFactory, UserFactory

VIEWER, APPROVER, OPERATOR, AUDITOR, ADMIN = Role.values
EVERYBODY = (VIEWER, APPROVER, OPERATOR, AUDITOR, ADMIN)
#: Full rights in another team, none here.
FOREIGNER = "admin of another team"
#: The same, and a viewer here: rights of one team must not count in the other.
VISITOR = "viewer here, looking at a team where they are admin"
#: Asked to sign in.
NOBODY, DEACTIVATED = "nobody", "deactivated admin"
#: Signed in, and in no team: not even for a superuser is there anything.
TEAMLESS, SUPERUSER = "person in no team", "superuser in no team"
ACTORS = (*EVERYBODY, FOREIGNER, VISITOR, NOBODY, DEACTIVATED, TEAMLESS, SUPERUSER)


@dataclass(slots=True)
class Actor:
    """One of them, with a browser. `role` is the one in the team they look at; "" without any."""

    name: str
    user: User | None
    client: Client
    role: str = ""


def cast(here: Team, elsewhere: Team) -> dict[str, Actor]:
    """All actors, signed in as far as they can be."""
    actors = {
        role: _member(role, MembershipFactory(team=here, role=role).user) for role in EVERYBODY
    }
    foreigner = MembershipFactory(team=elsewhere, role=ADMIN).user
    visitor = MembershipFactory(team=elsewhere, role=ADMIN).user
    MembershipFactory(team=here, role=VIEWER, user=visitor)
    actors |= {
        FOREIGNER: _member(FOREIGNER, foreigner, ADMIN),
        VISITOR: _member(VISITOR, visitor, ADMIN, looks_at=elsewhere),
        NOBODY: Actor(NOBODY, None, Client()),
        DEACTIVATED: _member(DEACTIVATED, MembershipFactory(team=here, role=ADMIN).user, ""),
        TEAMLESS: _member(TEAMLESS, UserFactory(), ""),
        SUPERUSER: _member(SUPERUSER, UserFactory(is_superuser=True, is_staff=True), ""),
    }
    # after signing in: the session is still there
    User.objects.filter(pk=actors[DEACTIVATED].user.pk).update(is_active=False)  # type: ignore[union-attr]
    return actors


def _member(name: str, user: User, role: str | None = None, looks_at: Team | None = None) -> Actor:
    client = Client()
    client.force_login(user)
    if looks_at is not None:
        session = client.session
        session[TEAM_KEY] = looks_at.pk
        session.save()
    return Actor(name, user, client, name if role is None else role)

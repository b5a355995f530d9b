"""Signed-in browsers for tests of pages."""

from django.test import Client

from mcpdesk.accounts.models import Membership, Role, Team
from mcpdesk.accounts.sessions import TEAM_KEY
from tests.factories import MembershipFactory


def signed_in(membership: Membership) -> Client:
    """A browser of this member, looking at this team."""
    client = Client()
    client.force_login(membership.user)
    session = client.session
    session[TEAM_KEY] = membership.team_id
    session.save()
    return client


def browser(role: Role | str, team: Team) -> Client:
    """A browser of a new member of the team with that role."""
    return signed_in(MembershipFactory(team=team, role=role))


def htmx(target: str) -> dict[str, str]:
    """The headers of a live region asking for itself."""
    return {"HX-Request": "true", "HX-Target": target}

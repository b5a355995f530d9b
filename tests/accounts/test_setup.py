"""The first admin."""

import pytest

from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.models import Membership, Role, Team, User
from mcpdesk.accounts.setup import create_first_admin, needs_first_admin
from tests.factories import TeamFactory, UserFactory

pytestmark = pytest.mark.django_db

GOOD = "correct horse battery"


def test_the_first_admin_gets_an_account_and_a_team_of_their_own() -> None:
    assert needs_first_admin()
    user = create_first_admin("Ada@Example.test ", GOOD, "Ada", "Platform")
    membership = Membership.objects.get()
    assert (membership.user, membership.role, membership.team.name) == (user, "admin", "Platform")
    assert user.email == "ada@example.test"
    assert user.check_password(GOOD)
    assert not needs_first_admin()


def test_the_first_admin_has_no_way_around_the_teams_rules() -> None:
    user = create_first_admin("ada@example.test", GOOD, "Ada", "Platform")
    assert not user.is_superuser
    assert not user.is_staff


@pytest.mark.parametrize(
    ("email", "password", "says"),
    [
        ("ada", GOOD, "is not an e-mail address"),
        ("", GOOD, "is not an e-mail address"),
        ("ada@example.test", "short", "too short"),
        ("ada@example.test", "password123", "too common"),
    ],
)
def test_what_will_not_do_is_refused_with_a_sentence_and_nothing_is_written(
    email: str, password: str, says: str
) -> None:
    with pytest.raises(Refused) as refusal:
        create_first_admin(email, password, "Ada", "Platform")
    assert says in refusal.value.sentence
    assert not User.objects.exists()
    assert not Team.objects.exists()


def test_there_is_no_second_first_admin() -> None:
    UserFactory()
    with pytest.raises(Refused, match="accounts already"):
        create_first_admin("ada@example.test", GOOD, "Ada", "Platform")
    assert not Membership.objects.filter(role=Role.ADMIN).exists()


def test_a_team_whose_name_is_taken_or_has_no_letters_gets_a_slug_of_its_own() -> None:
    TeamFactory(slug="platform")
    create_first_admin("ada@example.test", GOOD, "Ada", "Platform")
    assert Team.objects.filter(slug="platform-2").exists()

"""`./desk support_staff`: the effect, each refusal, the repeat, and that no page does it."""

from io import StringIO

import pytest
from allauth.mfa.models import Authenticator
from django.core.management import CommandError, call_command

from mcpdesk.accounts.models import User
from mcpdesk.audit.models import Event
from tests.factories import TeamFactory, UserFactory
from tests.support.staff import make_staff

pytestmark = pytest.mark.django_db(transaction=True)


def support_staff(*arguments: str) -> str:
    out = StringIO()
    call_command("support_staff", *arguments, stdout=out)
    return out.getvalue()


def test_somebody_becomes_support_staff_and_every_team_reads_of_it() -> None:
    teams, ada = TeamFactory.create_batch(2), UserFactory(name="Ada")
    said = support_staff("add", ada.email.upper())
    ada.refresh_from_db()
    assert ada.is_staff and not ada.is_superuser
    assert "has to set up a second factor first" in said
    events = Event.objects.filter(kind="support.staff_added")
    assert {event.team_id for event in events} == {team.pk for team in teams}
    assert {(event.data["person"], event.channel) for event in events} == {("Ada", "command")}


def test_somebody_is_support_staff_no_more() -> None:
    TeamFactory()
    user = make_staff()
    assert "no more" in support_staff("remove", user.email)
    user.refresh_from_db()
    assert not user.is_staff
    assert Event.objects.filter(kind="support.staff_removed").count() == 1


def test_the_same_once_more_is_refused_and_writes_nothing() -> None:
    TeamFactory()
    user = UserFactory()
    with pytest.raises(CommandError, match="is not support staff"):
        support_staff("remove", user.email)
    support_staff("add", user.email)
    with pytest.raises(CommandError, match="already"):
        support_staff("add", user.email)
    assert Event.objects.filter(kind__startswith="support.").count() == 1


def test_who_has_no_account_or_a_closed_one_does_not_become_staff() -> None:
    closed = UserFactory(is_active=False)
    for email, why in (("nobody@example.test", "Nobody has an account"), (closed.email, "deact")):
        with pytest.raises(CommandError, match=why):
            support_staff("add", email)
    with pytest.raises(CommandError, match="Whom"):
        support_staff("add")
    assert not User.objects.filter(is_staff=True).exists()


def test_the_list_names_who_is_staff_and_whose_factor_is_missing() -> None:
    ready, unready = make_staff(), make_staff()
    UserFactory()
    Authenticator.objects.filter(user=unready).delete()
    lines = support_staff("list").splitlines()
    assert len(lines) == 2
    assert f"{ready.email} is support staff" in lines
    assert any(line.startswith(unready.email) and "second factor" in line for line in lines)


def test_djangos_createsuperuser_makes_no_support_staff() -> None:
    user = User.objects.create_superuser("root@example.test", "correct horse battery")
    assert not user.is_staff

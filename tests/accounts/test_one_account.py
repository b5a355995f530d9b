"""One person, one account: no spelling of an address makes a second one."""

import importlib

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, transaction

from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.models import Membership, Role, User
from mcpdesk.audit.log import Actor
from mcpdesk.web import members
from tests.factories import NOW, MembershipFactory, UserFactory

pytestmark = pytest.mark.django_db(transaction=True)

SAME = [
    "ANN@example.test",
    " ann@example.test\t",
    "ann@EXAMPLE.test",
    "ann\u00a0@example.test",
    "ann@example.test\u200b",
    "ａnn@example.test",
    "ann@ｅxample.test",
    "ann@exam\u00adple.test",
    '"ann"@example.test',
    "ann@example.test.",
    "ann@example.test\x00",
    "ann+second@example.test",
    "ANN+a+b@example.test",
    "ann+@example.test",
]
#: Letters that a comparison without case takes for plain ones.
LIKE_PLAIN = ["boſs@example.test", "boss@example.teſt", "adm\u0131n@example.test"]


def _add(email: str) -> object:
    admin = MembershipFactory(role=Role.ADMIN)
    actor = Actor(admin.user, "Admin", "web")  # type: ignore[arg-type]
    return members.add_member(
        team_id=admin.team_id,
        email=email,
        name="Second",
        role=Role.APPROVER,
        password="",
        actor=actor,
        now=NOW,
    )


@pytest.mark.parametrize("email", SAME)
def test_another_spelling_of_an_address_makes_no_second_account(email: str) -> None:
    UserFactory(email="ann@example.test")
    try:
        _add(email)
    except Refused:
        assert not Membership.objects.filter(role=Role.APPROVER).exists()
    else:
        assert Membership.objects.get(role=Role.APPROVER).user.email == "ann@example.test"
    assert not User.objects.filter(name="Second").exists()


@pytest.mark.parametrize("email", LIKE_PLAIN)
def test_letters_that_look_like_plain_ones_make_no_account_at_all(email: str) -> None:
    with pytest.raises(Refused, match=r"plain ASCII|not an e-mail address"):
        _add(email)


def test_a_label_makes_no_second_account_whichever_of_them_came_first() -> None:
    UserFactory(email="ann+work@example.test", is_active=False)
    for email in ("ann@example.test", "ann+home@example.test"):
        with pytest.raises(Refused, match="are one mailbox"):
            _add(email)


def test_who_has_a_label_of_their_own_and_no_other_account_joins() -> None:
    UserFactory(email="ben@example.test")
    _add("ann+work@example.test")
    assert Membership.objects.get(role=Role.APPROVER).user.email == "ann+work@example.test"


def test_a_closed_account_stays_closed_while_the_same_mailbox_has_another() -> None:
    admin = MembershipFactory(role=Role.ADMIN)
    closed = MembershipFactory(
        team=admin.team, user__email="ann+old@example.test", user__is_active=False
    )
    UserFactory(email="ann@example.test")
    actor = Actor(admin.user, "Admin", "web")  # type: ignore[arg-type]
    with pytest.raises(Refused, match="are one mailbox"):
        members.reactivate(closed.pk, team_id=admin.team_id, actor=actor, now=NOW)


def test_the_database_itself_keeps_two_active_accounts_of_one_mailbox_out() -> None:
    UserFactory(email="ann@example.test")
    with pytest.raises(IntegrityError), transaction.atomic():
        UserFactory(email="Ann+x@example.test")


@pytest.mark.django_db
def test_an_update_names_the_accounts_that_share_a_mailbox_and_changes_nothing() -> None:
    module = importlib.import_module("mcpdesk.accounts.migrations.0003_one_account_per_mailbox")
    UserFactory(email="ben@example.test")
    with transaction.atomic():
        connection.cursor().execute("DROP INDEX one_active_user_per_mailbox")
        for email in ("ann@example.test", "ann+x@example.test"):
            UserFactory(email=email)
        with pytest.raises(RuntimeError, match=r"^ann@example.test, ann\+x@example.test: these"):
            module.say_who_has_two(apps, connection.schema_editor())
        transaction.set_rollback(True)

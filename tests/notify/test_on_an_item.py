"""The messages about an item on its page: whose, how many, and why one did not arrive."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from approvals.models import Approval
from mcpdesk.accounts.access import member_in
from mcpdesk.accounts.models import Role, Team, User
from mcpdesk.notify import selectors
from mcpdesk.notify.models import Medium, Message, MessageState, Topic
from mcpdesk.notify.selectors import SHOWN_OF_ITEM, Told
from tests.factories import NOW
from tests.notify.conftest import Join, put, webhook

pytestmark = pytest.mark.django_db

ERROR = "The mail server refuses the mail (554)."
EVERYTHING = (Role.OPERATOR, Role.ADMIN, Role.AUDITOR)


@pytest.fixture
def anna(join: Join) -> User:
    """An approver who was told of the item; in vain, as was a channel of the team."""
    return join(name="Anna Berg")


@pytest.fixture
def told(approval: Approval, team: Team, anna: User) -> Approval:
    webhook(team, name="On call")
    put(approval)
    Message.objects.update(
        state=MessageState.DEAD, last_error=ERROR, next_at=None, finished_at=NOW, attempts=9
    )
    return approval


def _page(user: User, approval: Approval, name: str = "inbox_item") -> str:
    client = Client()
    client.force_login(user)
    return client.get(reverse(name, args=[approval.pk])).content.decode()


def _seen(user: User, approval: Approval) -> Told:
    member = member_in(user, approval.team_id)
    assert member is not None
    return selectors.of_approval(member, approval.pk)


def _many(approval: Approval, user: User, count: int) -> None:
    """So many messages to one person about the item, each a minute after the one before."""
    Message.objects.bulk_create(
        Message(
            team=approval.team,
            medium=Medium.EMAIL,
            user=user,
            target=f"u{user.pk}",
            topic=Topic.COMMENT,
            event="approval.commented",
            matter=f"approval:{approval.pk}",
            once=f"{approval.pk}-{number}",
            content={"subject": f"Comment {number}", "sentence": "", "path": "/", "facts": []},
            state=MessageState.SENT,
            created_at=NOW + timedelta(minutes=number),
            finished_at=NOW,
        )
        for number in range(count)
    )


@pytest.mark.parametrize("role", EVERYTHING)
@pytest.mark.parametrize("part", ["inbox_item", "inbox_item_live"])
def test_who_operates_or_reads_the_log_sees_each_with_its_last_error(
    told: Approval, join: Join, role: Role, part: str
) -> None:
    page = _page(join(role), told, part)
    assert "Messages about it" in page
    assert "to Anna Berg by e-mail" in page
    assert "to On call by webhook" in page
    assert page.count(ERROR) == 2


def test_everybody_else_sees_what_was_sent_to_themselves(told: Approval, anna: User) -> None:
    page = _page(anna, told)
    assert "Messages to you about it" in page
    assert page.count(ERROR) == 1
    assert "On call" not in page


@pytest.mark.parametrize("role", [Role.APPROVER, Role.VIEWER])
@pytest.mark.parametrize("part", ["inbox_item", "inbox_item_live"])
def test_of_messages_to_others_they_see_neither_state_nor_error(
    told: Approval, join: Join, role: Role, part: str
) -> None:
    page = _page(join(role), told, part)
    assert ERROR not in page
    assert "Messages about it" not in page
    assert "Messages to you" not in page


def test_the_latest_are_shown_and_the_others_counted(
    approval: Approval, join: Join, anna: User
) -> None:
    _many(approval, anna, SHOWN_OF_ITEM + 5)
    page = _page(join(Role.ADMIN), approval)
    assert f"The latest {SHOWN_OF_ITEM} of {SHOWN_OF_ITEM + 5}." in page
    assert "Comment 24" in page
    assert "Comment 4<" not in page
    subjects = [message.content["subject"] for message in _seen(anna, approval).latest]
    assert subjects == [f"Comment {number}" for number in range(24, 4, -1)]


def test_no_more_queries_for_more_messages(
    approval: Approval, join: Join, anna: User, django_assert_num_queries: Any
) -> None:
    member = member_in(join(Role.ADMIN), approval.team_id)
    assert member is not None
    for count, queries in ((3, 1), (SHOWN_OF_ITEM + 30, 2)):
        Message.objects.all().delete()
        _many(approval, anna, count)
        with django_assert_num_queries(queries):
            found = selectors.of_approval(member, approval.pk)
            assert {str(message.user or message.channel) for message in found.latest} == {str(anna)}
        assert found.count == count

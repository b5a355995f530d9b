"""The page of remembered approvals: everybody reads it, few take one back."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from approvals import remembered
from approvals.models import Approval, Remembered
from approvals.remembered import Scope
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Membership, Role
from tests.approvals.gates import a_gate, say, token
from tests.factories import MembershipFactory, ServerFactory
from tests.web.browsing import browser, signed_in

pytestmark = pytest.mark.django_db

PAGE = "/policies/remembered/"
SAID = {"remember_arguments": "same", "remember_for": "starter", "remember_long": "24"}


@pytest.fixture
def approver() -> Membership:
    membership: Membership = MembershipFactory(role=Role.APPROVER, user__name="Amelia Nowak")
    return membership


def _member(membership: Membership) -> Member:
    return Member(membership.user, membership.team, Role(membership.role))


def approved(approver: Membership, **ask: object) -> Approval:
    """A call of an operator that this person has approved just now."""
    operator = MembershipFactory(role=Role.OPERATOR, team=approver.team, user__name="Oskar Lind")
    server = ServerFactory(team=approver.team, name=f"server {Approval.objects.count()}")
    gate = a_gate(_member(operator), {"remember": True, **ask}, server=server)
    now = timezone.now()
    Approval.objects.update(deadline_at=None)
    member = _member(approver)
    say(gate, member, token=token(gate, member, now), now=now)
    return Approval.objects.get(pk=gate.pk)


def left(approver: Membership) -> Remembered:
    scope = Scope(any_arguments=False, whole_team=False, hours=24)
    gate = approved(approver)
    return remembered.remember(gate.pk, member=_member(approver), scope=scope, now=timezone.now())


def text(client: Client, path: str = PAGE) -> str:
    return client.get(path).content.decode()


def test_the_page_says_for_what_for_whom_until_when_and_how_often(approver: Membership) -> None:
    one = left(approver)
    page = text(signed_in(approver))
    for part in (
        "deploy_project",
        "With exactly the arguments of",
        f"/inbox/{one.approval_id}/",
        "started by Oskar Lind",
        "Amelia Nowak had it remembered",
        "Never used.",
        "Take back",
    ):
        assert part in page
    Remembered.objects.update(
        uses=2, last_used_at=timezone.now(), arguments_digest="", starter=None
    )
    page = text(signed_in(approver))
    assert "Used 2 times, last" in page
    assert "With any arguments" in page
    assert "started by anybody who may start it" in page


def test_taken_back_it_moves_to_those_that_ended_and_says_who_did(approver: Membership) -> None:
    one, admin = left(approver), browser(Role.ADMIN, approver.team)
    assert "Taken back." in admin.post(f"{PAGE}{one.pk}/revoke/", follow=True).content.decode()
    assert "Nothing is remembered now." in text(admin)
    over = text(admin, f"{PAGE}?over=1")
    assert "took it back" in over
    assert "Take back" not in over


def test_what_ended_by_itself_says_so(approver: Membership) -> None:
    one = left(approver)
    Remembered.objects.filter(pk=one.pk).update(ends_at=timezone.now() - timedelta(minutes=5))
    client = signed_in(approver)
    assert "deploy_project" not in text(client)
    assert "It ended" in text(client, f"{PAGE}?over=1")


@pytest.mark.parametrize("role", [role for role in Role if role != Role.ADMIN])
def test_others_read_it_and_take_nothing_back(approver: Membership, role: Role) -> None:
    one = left(approver)
    other = browser(role, approver.team)
    page = text(other)
    assert "Amelia Nowak had it remembered" in page
    assert "Take back" not in page
    refused = other.post(f"{PAGE}{one.pk}/revoke/", follow=True).content.decode()
    assert "Only an admin, or whoever had it remembered" in refused
    assert Remembered.objects.get().revoked_at is None


def test_another_teams_does_not_exist(approver: Membership) -> None:
    one = left(approver)
    stranger = signed_in(MembershipFactory(role=Role.ADMIN))
    assert "deploy_project" not in text(stranger)
    assert stranger.post(f"{PAGE}{one.pk}/revoke/").status_code == 404
    assert stranger.post(f"{PAGE}{one.approval_id}/leave/", SAID).status_code == 404


def test_whoever_has_just_approved_it_has_it_remembered_from_the_item(
    approver: Membership,
) -> None:
    gate = approved(approver)
    client = signed_in(approver)
    page = client.post(f"{PAGE}{gate.pk}/leave/", SAID, follow=True)
    assert page.redirect_chain[0][0] == f"/inbox/{gate.pk}/"
    assert "Remembered. It is listed under Policies" in page.content.decode()
    one = Remembered.objects.get()
    assert one.ends_at - one.created_at == timedelta(days=1)
    again = client.post(f"{PAGE}{gate.pk}/leave/", SAID, follow=True).content.decode()
    assert "remembered already" in again
    assert Remembered.objects.count() == 1


@pytest.mark.parametrize(
    "odd",
    [
        {"remember_long": "31", "remember_long_unit": "days"},
        {"remember_long": ""},
        {"remember_for": "everybody"},
    ],
)
def test_a_scope_that_is_none_is_told_and_leaves_nothing(
    approver: Membership, odd: dict[str, str]
) -> None:
    gate = approved(approver)
    page = signed_in(approver).post(f"{PAGE}{gate.pk}/leave/", {**SAID, **odd}, follow=True)
    assert "Say for which calls, and for how long." in page.content.decode()
    assert not Remembered.objects.exists()


@pytest.mark.parametrize("any_arguments", [False, True])
@pytest.mark.parametrize(("role", "reads"), [(Role.VIEWER, False), (Role.AUDITOR, True)])
def test_nobody_finds_out_what_was_approved_by_trying_arguments(
    approver: Membership, role: Role, reads: bool, any_arguments: bool
) -> None:
    gate = approved(approver)
    scope = Scope(any_arguments=any_arguments, whole_team=True, hours=24)
    remembered.remember(gate.pk, member=_member(approver), scope=scope, now=timezone.now())
    call = {"tool": gate.operation.tool_name, "server": gate.operation.server.name}
    call |= {"starter": str(gate.operation.started_by_id), "arguments": '{"project": "api"}'}
    answer = browser(role, approver.team).post("/policies/try/", call)
    assert ("has approved such calls before" in answer.content.decode()) is (reads or any_arguments)
    assert "This call would" in answer.content.decode()


@pytest.mark.parametrize("role", list(Role))
def test_nobody_else_has_it_remembered(approver: Membership, role: Role) -> None:
    gate = approved(approver)
    other = browser(role, approver.team)
    page = other.post(f"{PAGE}{gate.pk}/leave/", SAID, follow=True).content.decode()
    assert "Only whoever approved it last" in page
    assert not Remembered.objects.exists()


def test_the_list_asks_as_little_for_many_as_for_few(
    approver: Membership, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    one = left(approver)
    for _ in range(60):
        one.pk = None
        one.save()
    client = signed_in(approver)
    with django_assert_max_num_queries(13):
        page = text(client)
    assert "Page 1 of 2" in page
    assert page.count("had it remembered") == 50

"""The gate on the page of its operation: whom it waits for, by name where people were named."""

import re
from collections.abc import Callable
from typing import Any

import pytest
import time_machine
from django.test import Client
from django.utils.html import strip_tags

from approvals.models import Approval, Verdict
from mcpdesk.accounts.access import Member, member_in
from mcpdesk.accounts.models import Membership, Role
from tasks_monitor.models import Server
from tests.api.calling import of
from tests.approvals.gates import LATER, a_gate, say
from tests.factories import MembershipFactory
from tests.web.browsing import signed_in

pytestmark = pytest.mark.django_db

Gate = Callable[..., Approval]


@pytest.fixture(autouse=True)
def _soon() -> Any:
    with time_machine.travel(LATER, tick=False):
        yield


@pytest.fixture
def client(operator: Membership) -> Client:
    return signed_in(operator)


@pytest.fixture
def put_to(operator: Membership, server: Server) -> Gate:
    """A gate that waits for these people, before a call of the operator."""

    def put(*people: Membership, **ask: Any) -> Approval:
        named = {"audience": "people", "people": [one.user_id for one in people], **ask}
        return a_gate(_member(operator), ask=named, server=server)

    return put


@pytest.fixture
def approver(server: Server) -> Callable[[str], Membership]:
    def join(name: str) -> Membership:
        made: Membership = MembershipFactory(team=server.team, role=Role.APPROVER, user__name=name)
        return made

    return join


def _member(membership: Membership) -> Member:
    found = member_in(membership.user, membership.team_id)
    assert found is not None
    return found


def _words(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return " ".join(strip_tags(answer.content.decode()).split())


def _said(client: Client, gate: Approval) -> tuple[str, str]:
    """Whom it waits for, in the headline and in the line of the gate."""
    page = _words(client, f"/operations/{gate.operation_id}/")
    found = re.search(
        r"Waiting for approval by (.*?), \d+ min; .* Waits for (.*?) (no|until) ", page
    )
    assert found is not None, page
    return found[1], found[2]


def test_named_people_are_named_as_on_the_page_of_the_gate(
    client: Client, put_to: Gate, approver: Callable[[str], Membership]
) -> None:
    gate = put_to(approver("Pia"), approver("Ida"))
    assert _said(client, gate) == ("Ida, Pia", "Ida, Pia")
    assert "Could decide it: Ida, Pia." in _words(client, f"/inbox/{gate.pk}/")


def test_of_many_the_first_are_named(
    client: Client, put_to: Gate, approver: Callable[[str], Membership]
) -> None:
    gate = put_to(*(approver(f"Ida {number}") for number in range(1, 10)))
    names = ", ".join(f"Ida {number}" for number in range(1, 9))
    assert _said(client, gate)[0] == f"{names} and others"
    assert f"Could decide it: {names} and others." in _words(client, f"/inbox/{gate.pk}/")


def test_who_started_it_is_not_waited_for_under_four_eyes(
    client: Client,
    operator: Membership,
    put_to: Gate,
    approver: Callable[[str], Membership],
) -> None:
    gate = put_to(approver("Pia"), operator, four_eyes=True)
    assert _said(client, gate)[0] == "Pia"


def test_who_has_agreed_is_not_waited_for(
    client: Client, put_to: Gate, approver: Callable[[str], Membership]
) -> None:
    pia, ida = approver("Pia"), approver("Ida")
    gate = put_to(pia, ida, quorum=2)
    say(gate, _member(pia), Verdict.APPROVE)
    assert _said(client, gate)[0] == "Ida"


def test_where_none_of_them_is_left_it_says_whom_it_was_put_to(
    client: Client, put_to: Gate, approver: Callable[[str], Membership]
) -> None:
    pia = approver("Pia")
    gate = put_to(pia)
    pia.delete()
    assert _said(client, gate)[0] == "named people"


def test_a_gate_for_a_whole_audience_names_nobody(
    client: Client, put_to: Gate, approver: Callable[[str], Membership]
) -> None:
    approver("Pia")
    gate = put_to(audience="approvers")
    assert _said(client, gate)[0] == "the team&#x27;s approvers"


def test_the_api_names_whom_it_waits_for_and_not_who_started_it(
    operator: Membership, put_to: Gate, approver: Callable[[str], Membership]
) -> None:
    gate = put_to(approver("Pia"))
    answer = of(operator).get(f"/operations/{gate.operation_id}").json()
    assert answer["words"] == "Waiting for approval by Pia"

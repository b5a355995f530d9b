"""The policies page: everybody in the team reads it, an admin changes it."""

from typing import Any

import pytest
from django.test import Client

from approvals.gate import Requested, request_start
from approvals.models import PolicyRule
from mcpdesk.accounts.models import Membership, Role
from mcpdesk.audit.log import Actor
from mcpdesk.audit.models import Channel
from tasks_monitor.models import Operation
from tests.factories import NOW, MembershipFactory, PolicyRuleFactory, ServerFactory
from tests.web.browsing import browser, signed_in

pytestmark = pytest.mark.django_db

FORM = {
    "name": "Big refunds",
    "server": "*",
    "tool": "issue_refund",
    "starter": "role",
    "starter_roles": ["operator"],
    "conditions": 'amount greater 500\ncurrency in ["EUR", "SEK"]\nticket matches OPS-[0-9]+',
    "destructiveHint": "true",
    "effect": "ask",
    "audience": "approvers",
    "quorum": "2",
    "four_eyes": "on",
    "deadline_min": "90",
    "at_deadline": "deny",
    "version": "0",
}


@pytest.fixture
def admin() -> Membership:
    return MembershipFactory(role=Role.ADMIN)


@pytest.fixture
def client(admin: Membership) -> Client:
    return signed_in(admin)


def text(client: Client, path: str = "/policies/") -> str:
    return client.get(path).content.decode()


def test_a_team_without_rules_reads_what_then_happens(client: Client) -> None:
    page = text(client)
    assert "Everything else" in page
    assert "ask one of the team&#x27;s approvers, not whoever starts it" in page


def test_a_rule_is_saved_as_it_was_written_and_read_back_into_the_form(client: Client) -> None:
    assert client.post("/policies/new/", FORM).status_code == 302
    rule = PolicyRule.objects.get()
    assert rule.as_rule() == {
        "name": "Big refunds",
        "effect": "ask",
        "server": "*",
        "tool": "issue_refund",
        "starter": {"kind": "role", "roles": ["operator"]},
        "arguments": [
            {"path": "amount", "op": "greater", "value": 500},
            {"path": "currency", "op": "in", "value": ["EUR", "SEK"]},
            {"path": "ticket", "op": "matches", "value": "OPS-[0-9]+"},
        ],
        "claims": {"destructiveHint": True},
        "ask": {
            "audience": "approvers",
            "people": [],
            "quorum": 2,
            "four_eyes": True,
            "deadline_s": 5400,
            "at_deadline": "deny",
        },
    }
    form = client.get(f"/policies/{rule.pk}/").context["form"]
    again = {**form.initial, "deadline_min": "90"}
    again["four_eyes"] = "on"
    assert client.post(f"/policies/{rule.pk}/", again).status_code == 302
    rule.refresh_from_db()
    assert rule.version == 1


def test_the_list_says_each_rule_in_words(client: Client) -> None:
    client.post("/policies/new/", FORM)
    page = text(client)
    assert "somebody who is operator calls issue_refund on any server" in page
    assert "amount is greater than 500" in page
    assert "ask 2 of the team&#x27;s approvers" in page
    assert "added rule Big refunds (ask)" in page


def test_a_preview_says_what_the_rule_would_do_and_saves_nothing(client: Client) -> None:
    response = client.post("/policies/new/", {**FORM, "preview": "1"})
    assert response.status_code == 200
    assert "Not saved yet." in response.content.decode()
    assert "calls issue_refund" in response.content.decode()
    assert not PolicyRule.objects.exists()


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"conditions": "amount"}, "write a path, a comparison and a value"),
        ({"conditions": "amount near 5"}, "What a condition compares is one of"),
        ({"conditions": "amount greater many"}, "compares with a number"),
        ({"conditions": "name matches ("}, "cannot be run"),
        ({"audience": "requester"}, "With four eyes"),
        ({"audience": "people"}, "Name at least as many people"),
        ({"starter": "role", "starter_roles": []}, "at least one role"),
        ({"quorum": "0"}, "greater than or equal to 1"),
    ],
)
def test_what_will_not_do_is_told_and_nothing_is_saved(
    client: Client, wrong: dict[str, Any], says: str
) -> None:
    response = client.post("/policies/new/", {**FORM, **wrong})
    assert response.status_code == 422
    assert says in response.content.decode()
    assert not PolicyRule.objects.exists()


def test_an_admin_moves_switches_and_deletes_with_plain_forms(
    client: Client, admin: Membership
) -> None:
    first, second = (PolicyRuleFactory(team=admin.team, name=name) for name in ("one", "two"))
    client.post(f"/policies/{second.pk}/move/", {"to": "up"})
    assert list(PolicyRule.objects.values_list("name", flat=True)) == ["two", "one"]
    client.post(f"/policies/{first.pk}/switch/", {"to": "off"})
    assert "switched off" in text(client)
    assert "Delete “two”?" in text(client, f"/policies/{second.pk}/delete/")
    assert PolicyRule.objects.count() == 2
    client.post(f"/policies/{second.pk}/delete/")
    assert list(PolicyRule.objects.values_list("name", flat=True)) == ["one"]


def test_a_rule_that_cannot_be_read_is_shown_as_such_and_can_be_mended(
    client: Client, admin: Membership
) -> None:
    broken = PolicyRuleFactory(team=admin.team, match={"tool": 7})
    assert "This rule cannot be read" in text(client)
    assert text(client, f"/policies/{broken.pk}/")


@pytest.mark.parametrize("role", [role for role in Role if role != Role.ADMIN])
def test_others_read_and_change_nothing(admin: Membership, role: Role) -> None:
    rule = PolicyRuleFactory(team=admin.team, name="the rule")
    reader = browser(role, admin.team)
    page = text(reader)
    assert "the rule" in page
    assert "Add a rule" not in page
    for path in ("new/", f"{rule.pk}/", f"{rule.pk}/delete/"):
        assert reader.get(f"/policies/{path}").status_code == 403
        assert reader.post(f"/policies/{path}", FORM).status_code == 403
    for path in ("move/", "switch/"):
        assert reader.post(f"/policies/{rule.pk}/{path}").status_code == 403
    assert PolicyRule.objects.get().enabled


def test_another_teams_rule_does_not_exist(client: Client) -> None:
    rule = PolicyRuleFactory(name="foreign rule")
    assert "foreign rule" not in text(client)
    for path in ("", "move/", "switch/", "delete/"):
        assert client.post(f"/policies/{rule.pk}/{path}").status_code == 404


def test_a_rule_that_failed_on_a_call_is_reported_there(client: Client, admin: Membership) -> None:
    broken = PolicyRuleFactory(team=admin.team, name="broken", match={"tool": 7})
    server = ServerFactory(team=admin.team)
    made = request_start(
        team_id=admin.team_id,
        server_id=server.pk,
        tool_name="x",
        arguments={},
        actor=Actor(admin.user, "Ada", Channel.WEB),
        now=NOW,
    )
    assert isinstance(made, Requested)
    page = text(client)
    assert f"Rule {broken.name} could not be applied, so people are asked" in page
    assert f"/operations/{made.operation.pk}/" in page


def test_a_call_is_tried_out_and_nothing_is_started(client: Client, admin: Membership) -> None:
    server = ServerFactory(team=admin.team, name="build")
    PolicyRuleFactory(
        team=admin.team,
        name="small",
        match={"arguments": [{"path": "n", "op": "less", "value": 5}]},
    )
    call = {"server": server.name, "tool": "x", "starter": str(admin.user_id)}
    said = {}
    for arguments in ('{"n": 1}', '{"n": 9}', '{"n": "1"}'):
        response = client.post("/policies/try/", {**call, "arguments": arguments})
        said[arguments] = response.context["would"]
    assert said['{"n": 1}'] == "run at once, because rule 1 (small) says so."
    assert "because no rule says anything" in said['{"n": 9}']
    assert "because rule 1 (small) could not be applied" in said['{"n": "1"}']
    assert client.post("/policies/try/", {**call, "arguments": "[]"}).status_code == 422
    assert not Operation.objects.exists()

"""The policies page: everybody in the team reads it, an admin changes it."""

from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from approvals.gate import Requested, request_start
from approvals.models import PolicyRule
from approvals.policies import edition
from approvals.policy_forms import RuleForm
from mcpdesk.accounts.models import Membership, Role
from mcpdesk.audit.log import Actor
from mcpdesk.audit.models import Channel
from mcpdesk.durations import DurationField
from tasks_monitor.models import Operation
from tests.factories import NOW, MembershipFactory, PolicyRuleFactory, ServerFactory
from tests.web.browsing import browser, htmx, signed_in

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
    "deadline": "90",
    "at_deadline": "deny",
    "version": "0",
}


STEPS = {
    "step1_after": "30",
    "step1_audience": "approvers",
    "step2_after": "60",
    "step2_audience": "people",
}
QUESTIONS = {
    "questions-audience": "admins",
    "questions-quorum": "1",
    "questions-deadline": "60",
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


def posted(form: RuleForm) -> dict[str, Any]:
    """What a browser sends of a form that nobody has touched."""
    sent = {}
    for part in (form, form.ask, form.questions):
        for bound in part:
            value = bound.value()
            if value in (None, False, []):
                continue
            if isinstance(bound.field, DurationField):
                name = bound.html_name
                sent[name], sent[f"{name}_unit"] = bound.field.widget.decompress(value)
            else:
                sent[bound.html_name] = "on" if value is True else value
    return sent


def test_a_rule_is_saved_as_it_was_written_and_read_back_into_the_form(
    client: Client, admin: Membership
) -> None:
    more = {**STEPS, "step2_people": [str(admin.user_id)], **QUESTIONS}
    more |= {"remember": "on", "repairs_need_two": "on"}
    assert client.post("/policies/new/", {**FORM, **more}).status_code == 302
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
            "escalation": [
                {"after_s": 1800, "audience": "approvers", "people": []},
                {"after_s": 3600, "audience": "people", "people": [admin.user_id]},
            ],
            "remember": True,
        },
        "questions": {
            "audience": "admins",
            "people": [],
            "quorum": 1,
            "four_eyes": False,
            "deadline_s": 3600,
            "at_deadline": "expire",
            "escalation": [],
            "remember": False,
        },
        "repairs_need_two": True,
    }
    form = client.get(f"/policies/{rule.pk}/").context["form"]
    assert client.post(f"/policies/{rule.pk}/", posted(form)).status_code == 302
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
        ({"conditions": "amount near 5"}, "“amount near 5”: What a condition compares is one of"),
        ({"conditions": "amount greater many"}, "compares with a number"),
        ({"conditions": "name matches ("}, "cannot be run"),
        ({"audience": "requester"}, "With four eyes"),
        ({"audience": "people"}, "Name at least as many people"),
        ({"starter": "role", "starter_roles": []}, "at least one role"),
        ({"quorum": "0"}, "greater than or equal to 1"),
        ({"step1_after": "30"}, "Say who is asked then."),
        ({"deadline": "91", "deadline_unit": "days"}, "From 1 minute to 90 days."),
        ({"deadline": "2", "deadline_unit": "weeks"}, "not one of the available choices"),
        ({"step1_audience": "admins"}, "Say after how long."),
        ({"step1_after": "90", "step1_audience": "admins"}, "The steps come before the deadline."),
        (STEPS, "at least one person for each step"),
        ({**QUESTIONS, "questions-audience": "people"}, "Name at least as many people"),
        ({**QUESTIONS, "questions-quorum": "21"}, "less than or equal to 20"),
        ({**QUESTIONS, "questions-audience": "everybody"}, "not one of the available choices"),
    ],
)
def test_what_will_not_do_is_told_and_nothing_is_saved(
    client: Client, wrong: dict[str, Any], says: str
) -> None:
    response = client.post("/policies/new/", {**FORM, **wrong})
    assert response.status_code == 422
    assert says in response.content.decode()
    assert not PolicyRule.objects.exists()


def _move(client: Client, rule: PolicyRule, to: str, **headers: Any) -> HttpResponse:
    seen = edition(rule.team_id)
    return client.post(f"/policies/{rule.pk}/move/", {"to": to, "edition": seen}, **headers)


def _names() -> list[str]:
    return list(PolicyRule.objects.order_by("position").values_list("name", flat=True))


def test_an_admin_moves_switches_and_deletes_with_plain_forms(
    client: Client, admin: Membership
) -> None:
    first, second = (PolicyRuleFactory(team=admin.team, name=name) for name in ("one", "two"))
    moved = _move(client, second, "up")
    assert moved["Location"] == f"/policies/#rule-{second.pk}"
    assert _names() == ["two", "one"]
    assert "“two” is rule 1 of 2 now." in text(client)
    _move(client, second, "2")
    assert _names() == ["one", "two"]
    client.post(f"/policies/{first.pk}/switch/", {"to": "off", "version": "1"})
    assert "switched off" in text(client)
    assert "Delete “two”?" in text(client, f"/policies/{second.pk}/delete/")
    assert PolicyRule.objects.count() == 2
    client.post(f"/policies/{second.pk}/delete/", {"version": "1"})
    assert _names() == ["one"]


def test_with_htmx_a_move_brings_the_list_back_and_says_where_the_rule_is(
    client: Client, admin: Membership
) -> None:
    for name in ("one", "two"):
        PolicyRuleFactory(team=admin.team, name=name)
    response = _move(client, PolicyRule.objects.get(name="two"), "up", headers=htmx("rules"))
    part = response.content.decode()
    assert part.strip().startswith('<div class="card list-card" id="rules">')
    assert 'role="status">“two” is rule 1 of 2 now.' in part
    assert "Everything else" in part
    assert part.index("two") < part.index("one")


@pytest.mark.parametrize("to", ["", "sideways", "-3", "9" * 400, "²"])
def test_a_place_that_is_none_moves_nothing(client: Client, admin: Membership, to: str) -> None:
    first, _ = (PolicyRuleFactory(team=admin.team, name=name) for name in ("one", "two"))
    assert _move(client, first, to).status_code == 302
    assert _names() == ["one", "two"]


def test_a_form_that_was_made_for_another_version_changes_nothing(
    client: Client, admin: Membership
) -> None:
    first, second = (PolicyRuleFactory(team=admin.team, name=name) for name in ("one", "two"))
    PolicyRule.objects.update(version=2)
    client.post(f"/policies/{second.pk}/move/", {"to": "up", "edition": "old"})
    assert "Somebody else changed the policy meanwhile" in text(client)
    for version in ("1", "", "x", "9" * 5000):
        for path, form in (("switch", {"to": "off"}), ("delete", {})):
            client.post(f"/policies/{first.pk}/{path}/", {**form, "version": version})
    assert "Somebody else changed this rule meanwhile" in text(client)
    saved = client.post(f"/policies/{first.pk}/", {**FORM, "version": "1"})
    assert saved.status_code == 422
    assert "Somebody else changed this rule" in saved.content.decode()
    assert _names() == ["one", "two"]
    assert PolicyRule.objects.filter(enabled=True, version=2).count() == 2


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
    sees_history = role == Role.AUDITOR
    assert ("Who changed what" in page) is sees_history
    assert reader.get("/policies/history/").status_code == (200 if sees_history else 403)
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
        said[arguments] = response.context["found"].would
    assert said['{"n": 1}'] == "run at once, because rule 1 (small) says so."
    assert "because no rule says anything" in said['{"n": 9}']
    assert "because rule 1 (small) could not be applied" in said['{"n": "1"}']
    assert client.post("/policies/try/", {**call, "arguments": "[]"}).status_code == 422
    assert not Operation.objects.exists()


def test_a_try_says_who_would_answer_what_the_server_asks(
    client: Client, admin: Membership
) -> None:
    server = ServerFactory(team=admin.team, name="build")
    PolicyRuleFactory(team=admin.team, questions={"audience": "admins", "deadline_s": 3600})
    call = {"server": server.name, "tool": "x", "starter": "", "arguments": "{}"}
    page = client.post("/policies/try/", call).content.decode()
    assert "What the server asks meanwhile is answered by one of the team&#x27;s admins" in page


def test_the_history_tells_all_of_it_a_page_at_a_time(client: Client, admin: Membership) -> None:
    rule = PolicyRuleFactory(team=admin.team, name="the rule")
    for version in range(1, 61):
        form = {"to": "off" if version % 2 else "on", "version": str(version)}
        client.post(f"/policies/{rule.pk}/switch/", form)
    first, last = text(client, "/policies/history/"), text(client, "/policies/history/?page=2")
    assert "Page 1 of 2" in first
    assert first.count("switched rule the rule") == 50
    assert last.count("switched rule the rule") == 10
    assert text(client).count("switched rule the rule") == 8


def test_the_page_asks_as_little_for_many_rules_as_for_few(
    client: Client, admin: Membership, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(30):
        PolicyRuleFactory(team=admin.team, name=f"rule number {number}")
    with django_assert_max_num_queries(16):
        client.get("/policies/")


@pytest.mark.parametrize(
    ("number", "unit", "seconds"),
    [("90", "minutes", 5400), ("36", "hours", 129600), ("7", "days", 604800)],
)
def test_a_deadline_is_given_in_the_unit_that_fits_and_stands_there_in_it_again(
    client: Client, number: str, unit: str, seconds: int
) -> None:
    given = {**FORM, "deadline": number, "deadline_unit": unit}
    assert client.post("/policies/new/", given).status_code == 302
    rule = PolicyRule.objects.get()
    assert rule.ask["deadline_s"] == seconds
    page = text(client, f"/policies/{rule.pk}/")
    assert f'name="deadline" value="{number}"' in page
    assert f'<option value="{unit}" selected>' in page

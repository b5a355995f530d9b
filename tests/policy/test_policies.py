"""The verbs on a team's rules: the effect, the event, the refusals, the role."""

from typing import Any

import pytest
from django.core.exceptions import PermissionDenied

from approvals import policies, policy
from approvals.models import PolicyRule
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.models import Membership, Role
from mcpdesk.audit.admins import Who
from mcpdesk.audit.models import Event
from tests.factories import NOW, MembershipFactory, PolicyRuleFactory

pytestmark = pytest.mark.django_db

ASK = {"name": "Deployments", "effect": "ask", "tool": "deploy_*", "ask": {"quorum": 2}}


@pytest.fixture
def who() -> Who:
    membership = MembershipFactory(role=Role.ADMIN)
    return Who(Member(membership.user, membership.team, Role.ADMIN), NOW)


def _order(who: Who) -> list[str]:
    return list(policies.rules_of(who.member.team_id).values_list("name", flat=True))


def _last_event() -> tuple[str, dict[str, Any]]:
    event = Event.objects.latest("id")
    return event.kind, event.data


def test_a_new_rule_stands_behind_all_others_and_the_log_says_who(who: Who) -> None:
    PolicyRuleFactory(team=who.member.team)
    rule = policies.add_rule(ASK, who=who)
    assert (rule.position, rule.enabled, rule.version) == (2, True, 1)
    assert policies.active(who.member.team_id)[1]["ask"]["quorum"] == 2
    event = Event.objects.get()
    assert (event.kind, event.actor, event.data["rule"]) == (
        "policy.added",
        who.member.user,
        "Deployments",
    )


def test_a_rule_that_is_not_understood_is_not_saved(who: Who) -> None:
    with pytest.raises(Refused, match="effect"):
        policies.add_rule({**ASK, "effect": "permit"}, who=who)
    assert not PolicyRule.objects.exists()


def test_only_members_of_the_team_are_named(who: Who) -> None:
    stranger = MembershipFactory().user
    for part in (
        {"ask": {"audience": "people", "people": [stranger.pk]}},
        {"starter": {"kind": "people", "people": [stranger.pk]}},
    ):
        with pytest.raises(Refused, match="not an active member"):
            policies.add_rule({**ASK, **part}, who=who)


def test_a_name_is_used_once(who: Who) -> None:
    policies.add_rule(ASK, who=who)
    with pytest.raises(Refused, match="that name"):
        policies.add_rule(ASK, who=who)


def test_a_change_says_what_was_changed_and_not_to_what(who: Who) -> None:
    rule = policies.add_rule(ASK, who=who)
    secret = [{"path": "customer", "op": "equals", "value": "SECRET-WORD"}]
    policies.change_rule(rule.pk, {**ASK, "arguments": secret}, version=1, who=who)
    assert _last_event() == ("policy.changed", {"rule": "Deployments", "fields": "conditions"})
    rule.refresh_from_db()
    assert rule.version == 2
    assert rule.as_rule()["arguments"] == secret


def test_saving_what_stands_there_already_changes_nothing(who: Who) -> None:
    rule = policies.add_rule(ASK, who=who)
    policies.change_rule(rule.pk, ASK, version=1, who=who)
    assert Event.objects.count() == 1


def test_an_edit_of_what_somebody_else_changed_meanwhile_is_refused(who: Who) -> None:
    rule = policies.add_rule(ASK, who=who)
    policies.change_rule(rule.pk, {**ASK, "tool": "*"}, version=1, who=who)
    with pytest.raises(Refused, match="Somebody else"):
        policies.change_rule(rule.pk, {**ASK, "effect": "allow"}, version=1, who=who)


def _seen(who: Who) -> str:
    return policies.edition(who.member.team_id)


def test_a_rule_moves_to_a_place_and_the_others_close_up(who: Who) -> None:
    a, _, c = (policies.add_rule({**ASK, "name": name}, who=who) for name in "abc")
    policies.move_rule(c.pk, 1, seen=_seen(who), who=who)
    assert _order(who) == ["c", "a", "b"]
    assert _last_event() == ("policy.moved", {"rule": "c", "before": 3, "after": 1})
    policies.move_rule(a.pk, 3, seen=_seen(who), who=who)
    assert _order(who) == ["c", "b", "a"]
    assert list(policies.rules_of(who.member.team_id).values_list("position", flat=True)) == [
        1,
        2,
        3,
    ]


def test_beyond_the_ends_there_is_no_place_and_staying_is_no_event(who: Who) -> None:
    a, b = (policies.add_rule({**ASK, "name": name}, who=who) for name in "ab")
    policies.move_rule(a.pk, 0, seen=_seen(who), who=who)
    policies.move_rule(b.pk, 99, seen=_seen(who), who=who)
    assert _order(who) == ["a", "b"]
    assert not Event.objects.filter(kind="policy.moved").exists()


def test_a_move_in_an_order_that_somebody_else_changed_is_refused(who: Who) -> None:
    a, b, c = (policies.add_rule({**ASK, "name": name}, who=who) for name in "abc")
    seen = _seen(who)
    policies.move_rule(a.pk, 2, seen=seen, who=who)
    with pytest.raises(Refused, match="Somebody else changed the policy"):
        policies.move_rule(c.pk, 2, seen=seen, who=who)
    seen = _seen(who)
    policies.change_rule(b.pk, {**ASK, "name": "b", "effect": "allow"}, version=1, who=who)
    with pytest.raises(Refused, match="Somebody else changed the policy"):
        policies.move_rule(c.pk, 1, seen=seen, who=who)
    assert _order(who) == ["b", "a", "c"]


def test_switched_off_a_rule_keeps_its_place_and_does_not_count(who: Who) -> None:
    rule = policies.add_rule(ASK, who=who)
    policies.set_enabled(rule.pk, False, version=1, who=who)
    assert policies.active(who.member.team_id) == []
    assert _last_event() == ("policy.disabled", {"rule": "Deployments"})
    policies.set_enabled(rule.pk, True, version=2, who=who)
    policies.set_enabled(rule.pk, True, version=3, who=who)
    assert Event.objects.filter(kind="policy.enabled").count() == 1


def test_what_somebody_else_changed_meanwhile_is_neither_switched_nor_removed(who: Who) -> None:
    rule = policies.add_rule(ASK, who=who)
    policies.change_rule(rule.pk, {**ASK, "tool": "*"}, version=1, who=who)
    for verb in (
        lambda: policies.set_enabled(rule.pk, False, version=1, who=who),
        lambda: policies.delete_rule(rule.pk, version=1, who=who),
    ):
        with pytest.raises(Refused, match="Somebody else"):
            verb()
    assert PolicyRule.objects.get().enabled


def test_removed_a_rule_leaves_no_gap(who: Who) -> None:
    a, _, _ = (policies.add_rule({**ASK, "name": name}, who=who) for name in "abc")
    policies.delete_rule(a.pk, version=1, who=who)
    assert list(PolicyRule.objects.values_list("name", "position")) == [("b", 1), ("c", 2)]
    assert _last_event()[0] == "policy.removed"


def test_a_rule_keeps_who_is_asked_later_and_who_answers(who: Who) -> None:
    steps = [{"after_s": 3600, "audience": "admins", "people": []}]
    asks = {"escalation": steps, "remember": True}
    rule = policies.add_rule(
        {**ASK, "ask": asks, "questions": {"audience": "admins", "quorum": 2}}, who=who
    )
    rule.refresh_from_db()
    read = policy.read_rule(rule.as_rule())
    assert (read.ask.remember, read.ask.escalation[0].after_s) == (True, 3600)
    assert read.questions == policy.read_questions({"audience": "admins", "quorum": 2})
    policies.change_rule(rule.pk, {**ASK, "ask": {}}, version=1, who=who)
    assert _last_event() == (
        "policy.changed",
        {"rule": "Deployments", "fields": "escalation, remembering, questions"},
    )
    rule.refresh_from_db()
    assert rule.questions is None


def test_everybody_whom_any_part_names_is_a_member(who: Who) -> None:
    stranger = [MembershipFactory().user.pk]
    step = [{"after_s": 60, "audience": "people", "people": stranger}]
    for part in (
        {"ask": {"escalation": step}},
        {"questions": {"audience": "people", "people": stranger}},
        {"questions": {"audience": "approvers", "escalation": step}},
    ):
        with pytest.raises(Refused, match="not an active member"):
            policies.add_rule({**ASK, **part}, who=who)


@pytest.mark.parametrize(
    "part",
    [
        {"ask": {"deadline_s": 90}},
        {"ask": {"escalation": [{"after_s": 61, "audience": "admins"}]}},
        {"questions": {"deadline_s": 61}},
    ],
)
def test_what_the_form_could_not_show_is_not_saved(who: Who, part: dict[str, Any]) -> None:
    with pytest.raises(Refused, match="whole minutes"):
        policies.add_rule({**ASK, **part}, who=who)


def test_one_and_true_are_different_values_of_a_condition(who: Who) -> None:
    def on(value: object) -> dict[str, Any]:
        return {**ASK, "arguments": [{"path": "n", "op": "equals", "value": value}]}

    rule = policies.add_rule(on(1), who=who)
    policies.change_rule(rule.pk, on(True), version=1, who=who)
    rule.refresh_from_db()
    assert rule.as_rule()["arguments"][0]["value"] is True


def test_a_rule_that_is_called_something_else_is_found_in_the_log_by_both_names(who: Who) -> None:
    rule = policies.add_rule(ASK, who=who)
    policies.change_rule(rule.pk, {**ASK, "name": "Releases"}, version=1, who=who)
    assert _last_event() == ("policy.renamed", {"before": "Deployments", "rule": "Releases"})


@pytest.mark.parametrize("role", [role for role in Role if role != Role.ADMIN])
def test_only_an_admin_of_the_moment_changes_anything(who: Who, role: Role) -> None:
    rule = policies.add_rule(ASK, who=who)
    Membership.objects.update(role=role)
    for verb in (
        lambda: policies.add_rule({**ASK, "name": "x"}, who=who),
        lambda: policies.change_rule(rule.pk, {**ASK, "effect": "allow"}, version=1, who=who),
        lambda: policies.set_enabled(rule.pk, False, version=1, who=who),
        lambda: policies.move_rule(rule.pk, 2, seen=_seen(who), who=who),
        lambda: policies.delete_rule(rule.pk, version=1, who=who),
    ):
        with pytest.raises(PermissionDenied, match="does not allow you"):
            verb()
    rule.refresh_from_db()
    assert (rule.effect, rule.enabled, rule.version) == ("ask", True, 1)


def test_another_teams_rule_does_not_exist(who: Who) -> None:
    foreign = PolicyRuleFactory()
    with pytest.raises(Refused, match="no such rule"):
        policies.delete_rule(foreign.pk, version=1, who=who)
    assert PolicyRule.objects.filter(pk=foreign.pk).exists()

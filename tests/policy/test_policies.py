"""The verbs on a team's rules: the effect, the event, the refusals, the role."""

from typing import Any

import pytest

from approvals import policies
from approvals.models import PolicyRule
from approvals.policies import Refused, Who
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Membership, Role
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
    assert _last_event() == ("policy.changed", {"rule": "Deployments", "fields": "match"})
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


def test_a_rule_moves_one_place_and_stays_at_the_ends(who: Who) -> None:
    a, b, c = (policies.add_rule({**ASK, "name": name}, who=who) for name in "abc")
    policies.move_rule(c.pk, True, who=who)
    assert _order(who) == ["a", "c", "b"]
    assert _last_event() == ("policy.moved", {"rule": "c", "before": 3, "after": 2})
    policies.move_rule(a.pk, True, who=who)
    policies.move_rule(b.pk, False, who=who)
    assert _order(who) == ["a", "c", "b"]


def test_switched_off_a_rule_keeps_its_place_and_does_not_count(who: Who) -> None:
    rule = policies.add_rule(ASK, who=who)
    policies.set_enabled(rule.pk, False, who=who)
    assert policies.active(who.member.team_id) == []
    assert _last_event() == ("policy.disabled", {"rule": "Deployments"})
    policies.set_enabled(rule.pk, True, who=who)
    policies.set_enabled(rule.pk, True, who=who)
    assert Event.objects.filter(kind="policy.enabled").count() == 1


def test_removed_a_rule_leaves_no_gap(who: Who) -> None:
    a, _, _ = (policies.add_rule({**ASK, "name": name}, who=who) for name in "abc")
    policies.delete_rule(a.pk, who=who)
    assert list(PolicyRule.objects.values_list("name", "position")) == [("b", 1), ("c", 2)]
    assert _last_event()[0] == "policy.removed"


@pytest.mark.parametrize("role", [role for role in Role if role != Role.ADMIN])
def test_only_an_admin_of_the_moment_changes_anything(who: Who, role: Role) -> None:
    rule = policies.add_rule(ASK, who=who)
    Membership.objects.update(role=role)
    for verb in (
        lambda: policies.add_rule({**ASK, "name": "x"}, who=who),
        lambda: policies.change_rule(rule.pk, {**ASK, "effect": "allow"}, version=1, who=who),
        lambda: policies.set_enabled(rule.pk, False, who=who),
        lambda: policies.move_rule(rule.pk, True, who=who),
        lambda: policies.delete_rule(rule.pk, who=who),
    ):
        with pytest.raises(Refused, match="Only an admin"):
            verb()
    rule.refresh_from_db()
    assert (rule.effect, rule.enabled, rule.version) == ("ask", True, 1)


def test_another_teams_rule_does_not_exist(who: Who) -> None:
    foreign = PolicyRuleFactory()
    with pytest.raises(Refused, match="no such rule"):
        policies.delete_rule(foreign.pk, who=who)
    assert PolicyRule.objects.filter(pk=foreign.pk).exists()

"""The history of a team's policy: the whole of it, each time it changes."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from approvals import policies, policy_export, policy_import, policy_versions
from approvals.models import PolicyVersion
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Role
from mcpdesk.audit.admins import Who
from tests.factories import NOW, MembershipFactory

pytestmark = pytest.mark.django_db

FIRST: dict[str, Any] = {"name": "First", "effect": "allow", "tool": "read_*"}
SECOND: dict[str, Any] = {"name": "Second", "effect": "disabled"}


@pytest.fixture
def who() -> Who:
    row = MembershipFactory(role=Role.ADMIN)
    return Who(Member(row.user, row.team, Role.ADMIN), NOW)


def names(who: Who) -> list[list[str]]:
    versions = PolicyVersion.objects.filter(team=who.member.team)
    return [[rule["name"] for rule in version.rules] for version in versions]


def test_each_verb_leaves_the_whole_policy_behind(who: Who) -> None:
    team = who.member.team_id
    first = policies.add_rule(FIRST, who=who)
    second = policies.add_rule(SECOND, who=who)
    policies.move_rule(second.pk, 1, seen=policies.edition(team), who=who)
    policies.change_rule(first.pk, {**FIRST, "name": "Renamed"}, version=1, who=who)
    policies.set_enabled(second.pk, False, version=1, who=who)
    policies.delete_rule(first.pk, version=2, who=who)
    assert names(who) == [
        ["First"],
        ["First", "Second"],
        ["Second", "First"],
        ["Second", "Renamed"],
        ["Renamed"],
        [],
    ]
    assert set(PolicyVersion.objects.values_list("by", flat=True)) == {who.member.user_id}


def test_an_import_leaves_one_version_behind(who: Who) -> None:
    policies.add_rule(FIRST, who=who)
    text = policy_export.export(who.member.team).replace("First", "Other")
    plan = policy_import.plan(text, who.member.team)
    policy_import.apply(text, seen=plan.seen, who=who)
    assert names(who) == [["First"], ["Other"]]


def test_what_changes_nothing_leaves_no_version_behind(who: Who) -> None:
    rule = policies.add_rule(FIRST, who=who)
    policies.change_rule(rule.pk, FIRST, version=1, who=who)
    policies.set_enabled(rule.pk, True, version=1, who=who)
    with pytest.raises(policies.Refused):
        policies.add_rule(FIRST, who=who)
    assert names(who) == [["First"]]


def test_the_last_version_says_what_counts_now(who: Who) -> None:
    policies.add_rule(FIRST, who=who)
    policies.add_rule(SECOND, who=who)
    assert PolicyVersion.objects.last().rules == policies.active(who.member.team_id)


def test_a_policy_is_known_as_it_was_at_a_moment(who: Who) -> None:
    policies.add_rule(FIRST, who=who)
    first = PolicyVersion.objects.get()
    policies.add_rule(SECOND, who=who)
    second = PolicyVersion.objects.last()
    just = timedelta(microseconds=1)
    team = who.member.team_id
    before = policy_versions.at(team, first.at - just)
    assert (before.rules, before.known) == ([], True)
    assert policy_versions.at(team, second.at - just).rules == first.rules
    assert policy_versions.at(team, second.at).rules == second.rules
    assert policy_versions.at(team, second.at).by == who.member.user


def test_what_was_before_the_upgrade_is_not_known(who: Who) -> None:
    found = PolicyVersion.objects.create(team=who.member.team, rules=[])
    found.refresh_from_db()
    before = policy_versions.at(who.member.team_id, found.at - timedelta(days=1))
    assert not before.known


def test_rules_of_the_past_are_encrypted(who: Who) -> None:
    policies.add_rule({**FIRST, "name": "Findable"}, who=who)
    with connection.cursor() as cursor:
        cursor.execute("SELECT convert_from(rules, 'UTF8') FROM approvals_policyversion")
        assert "Findable" not in cursor.fetchone()[0]

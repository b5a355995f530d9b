"""Export and import of a policy: the same rules, all of it or nothing, known again by name."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.db import DatabaseError, connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from approvals import policies, policy, policy_import
from approvals.models import PolicyRule
from approvals.policy_export import export
from approvals.policy_files import write
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.models import Membership, Role, User
from mcpdesk.audit.admins import Who
from mcpdesk.audit.models import Event
from tests.factories import NOW, MembershipFactory, PolicyRuleFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def who() -> Who:
    membership = MembershipFactory(role=Role.ADMIN, user__email="ada@example.test")
    return Who(Member(membership.user, membership.team, Role.ADMIN), NOW)


def seen(who: Who) -> str:
    return policies.edition(who.member.team_id)


def bring_in(who: Who, *rules: dict[str, Any]) -> policy_import.Plan:
    return policy_import.apply(write(list(rules)), seen=seen(who), who=who)


def names(who: Who) -> list[str]:
    return list(policies.rules_of(who.member.team_id).values_list("name", flat=True))


def kinds() -> list[str]:
    return list(Event.objects.order_by("id").values_list("kind", flat=True))


ALLOW = {"name": "Reads", "effect": "allow", "tool": "read_*"}
ASK = {"name": "Deletes", "effect": "ask", "ask": {"quorum": 2}}


# --- the effect


def test_the_file_takes_the_place_of_the_policy(who: Who) -> None:
    for name in ("gone", "Deletes", "kept"):
        policies.add_rule({"name": name, "effect": "allow"}, who=who)
    kept = PolicyRule.objects.get(name="kept")
    done = bring_in(who, {"name": "kept", "effect": "allow"}, {**ALLOW, "enabled": False}, ASK)
    assert [(one.name, one.what) for one in done.entries] == [
        ("kept", "moved"),
        ("Reads", "added"),
        ("Deletes", "changed"),
        ("gone", "removed"),
    ]
    assert names(who) == ["kept", "Reads", "Deletes"]
    assert list(PolicyRule.objects.order_by("position").values_list("position", "enabled")) == [
        (1, True),
        (2, False),
        (3, True),
    ]
    kept.refresh_from_db()
    assert kept.version == 1
    assert kinds()[3:] == [
        "policy.removed",
        "policy.added",
        "policy.changed",
        "policy.moved",
        "policy.moved",
        "policy.imported",
    ]
    told = Event.objects.get(kind="policy.imported")
    assert (told.actor, told.data) == (who.member.user, {"added": 1, "changed": 1, "removed": 1})


def test_a_preview_says_the_same_and_writes_nothing(who: Who) -> None:
    policies.add_rule(ALLOW, who=who)
    before = (seen(who), Event.objects.count())
    plan = policy_import.plan(write([ASK]), who.member.team)
    assert [(one.name, one.what) for one in plan.entries] == [
        ("Deletes", "added"),
        ("Reads", "removed"),
    ]
    assert (seen(who), Event.objects.count()) == before == (plan.seen, 1)


def test_a_change_names_its_parts_and_switching_is_one(who: Who) -> None:
    policies.add_rule(ASK, who=who)
    changed = {**ASK, "ask": {"quorum": 3, "remember": True}, "tool": "x", "enabled": False}
    done = bring_in(who, changed)
    assert done.entries[0].parts == ("tool", "how many", "remembering", "switched off")
    assert kinds()[-3:] == ["policy.changed", "policy.disabled", "policy.imported"]
    assert PolicyRule.objects.get().version == 3


def test_what_the_policy_says_already_changes_nothing_and_is_no_event(who: Who) -> None:
    policies.add_rule({**ASK, "starter": {"kind": "anyone"}, "claims": {}}, who=who)
    assert bring_in(who, ASK).changes_nothing
    assert kinds() == ["policy.added"]
    assert PolicyRule.objects.get().version == 1


def test_an_empty_file_leaves_no_rule_and_then_everything_asks(who: Who) -> None:
    policies.add_rule(ALLOW, who=who)
    bring_in(who)
    assert policies.active(who.member.team_id) == []


def test_a_broken_rule_is_mended_by_a_file_that_has_it_whole(who: Who) -> None:
    PolicyRuleFactory(team=who.member.team, name="Deletes", match={"tool": 7})
    assert bring_in(who, ASK).entries[0].parts == ("what could not be read",)
    assert policy.read_rule(PolicyRule.objects.get().as_rule())


def test_people_are_named_by_address_in_any_case_and_stand_in_the_rule_by_id(who: Who) -> None:
    people = {"audience": "people", "people": ["ADA@example.test"]}
    bring_in(who, {**ASK, "ask": people})
    assert PolicyRule.objects.get().ask["people"] == [who.member.user_id]


# --- refusals, each of which names the rule and writes nothing


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        (7, "Rule 2: a rule is a list of names and values"),
        ({"effect": "ask"}, "Rule 2: The name has 1 to 80 characters"),
        ({"name": "x", "effect": "permit"}, "Rule 2 (x): The effect is one of"),
        ({"name": "x", "effect": "ask", "toll": "y"}, "Rule 2 (x): The rule says something"),
        ({"name": "x", "effect": "ask", "enabled": "no"}, "Rule 2 (x): “enabled” is true or"),
        ({**ALLOW}, "Rule 2 (Reads): another rule of the file has that name"),
        (
            {"name": "x", "effect": "ask", "ask": {"audience": "people", "people": ["b@x.test"]}},
            "Rule 2 (x): Nobody who is active in this team has the address b@x.test",
        ),
        (
            {"name": "x", "effect": "ask", "starter": {"kind": "people", "people": [1]}},
            "Rule 2 (x): People are named by their e-mail addresses",
        ),
        (
            {"name": "x", "effect": "ask", "ask": {"deadline_s": 90}},
            "Rule 2 (x): Deadlines and steps are whole minutes",
        ),
        (
            {"name": "x", "effect": "ask", "ask": {"escalation": [{"after_s": 0}]}},
            "Rule 2 (x): When a step comes (s) is a whole number",
        ),
        (
            {"name": "x", "effect": "ask", "questions": {"at_deadline": "deny"}},
            "Rule 2 (x): What a server asks can only expire",
        ),
    ],
)
def test_a_rule_that_will_not_do_is_named_and_nothing_is_imported(
    who: Who, rule: Any, says: str
) -> None:
    policies.add_rule(ASK, who=who)
    with pytest.raises(Refused) as refused:
        bring_in(who, ALLOW, rule)
    assert says in refused.value.sentence
    with pytest.raises(Refused):
        policy_import.plan(write([ALLOW, rule]), who.member.team)
    assert names(who) == ["Deletes"]
    assert kinds() == ["policy.added"]


@pytest.mark.parametrize("away", ["deactivated", "of another team"])
def test_only_active_members_are_found_by_their_address(who: Who, away: str) -> None:
    other = MembershipFactory(user__email="ben@example.test")
    if away == "deactivated":
        Membership.objects.filter(pk=other.pk).update(team=who.member.team)
        User.objects.filter(pk=other.user_id).update(is_active=False)
    people = {"audience": "people", "people": ["ben@example.test"]}
    with pytest.raises(Refused, match="Nobody who is active"):
        bring_in(who, {**ASK, "ask": people})


def test_no_more_rules_than_a_policy_has(who: Who) -> None:
    rules = [{"name": f"rule {number}", "effect": "ask"} for number in range(201)]
    with pytest.raises(Refused, match="at most 200"):
        bring_in(who, *rules)


def test_a_policy_that_somebody_changed_after_the_preview_is_left_alone(who: Who) -> None:
    plan = policy_import.plan(write([ASK]), who.member.team)
    policies.add_rule(ALLOW, who=who)
    with pytest.raises(Refused, match="Somebody else changed the policy"):
        policy_import.apply(write([ASK]), seen=plan.seen, who=who)
    assert names(who) == ["Reads"]


@pytest.mark.parametrize("role", [role for role in Role if role != Role.ADMIN])
def test_only_an_admin_of_the_moment_imports(who: Who, role: Role) -> None:
    Membership.objects.update(role=role)
    with pytest.raises(PermissionDenied, match="does not allow you"):
        bring_in(who, ASK)
    assert not PolicyRule.objects.exists()


def test_a_crash_in_the_middle_leaves_the_policy_as_it_was(
    who: Who, monkeypatch: pytest.MonkeyPatch
) -> None:
    policies.add_rule(ALLOW, who=who)

    def crash(*_: object, **__: object) -> None:
        raise ConnectionError

    monkeypatch.setattr("approvals.policies.switch", crash)
    with pytest.raises(ConnectionError):
        bring_in(who, {**ALLOW, "effect": "disabled"}, ASK)
    assert policies.active(who.member.team_id)[0]["effect"] == "allow"
    assert kinds() == ["policy.added"]


def test_a_rule_that_cannot_be_read_is_named_and_nothing_is_exported(who: Who) -> None:
    PolicyRuleFactory(team=who.member.team, name="broken", match={"tool": 7})
    with pytest.raises(Refused, match=r"Mend or delete rule 1 \(broken\) first"):
        export(who.member.team)


# --- there and back

_people = st.just(["ada@example.test"])
_value = st.none() | st.booleans() | st.integers() | st.text(max_size=8).filter(str.isprintable)
_conditions = st.lists(
    st.builds(
        lambda path, value: {"path": path, "op": "equals", "value": value},
        st.sampled_from(["a", "a.b", "/a b/0", "no"]),
        _value | st.lists(_value, max_size=3),
    ),
    max_size=2,
)
_steps = st.lists(st.integers(1, 50), unique=True, max_size=3).map(
    lambda minutes: [{"after_s": 60 * at, "audience": "admins"} for at in sorted(minutes)]
)
_asks = st.fixed_dictionaries(
    {},
    optional={
        "audience": st.sampled_from(["approvers", "admins"]),
        "quorum": st.integers(1, 20),
        "four_eyes": st.booleans(),
        "deadline_s": st.none() | st.integers(51, 100).map(lambda minutes: minutes * 60),
        "escalation": _steps,
    },
) | st.fixed_dictionaries({"audience": st.just("people"), "people": _people})
_rules = st.lists(
    st.fixed_dictionaries(
        {"effect": st.sampled_from(["allow", "ask", "disabled"])},
        optional={
            "enabled": st.booleans(),
            "server": st.sampled_from(["*", "build", "no", "1e5"]),
            "tool": st.sampled_from(["*", "deploy_*"]),
            "starter": st.fixed_dictionaries({"kind": st.just("people"), "people": _people})
            | st.just({"kind": "role", "roles": ["operator", "admin"]})
            | st.just({"kind": "service"}),
            "arguments": _conditions,
            "claims": st.dictionaries(
                st.sampled_from(["readOnlyHint", "destructiveHint"]), st.booleans()
            ),
            "ask": st.builds(
                lambda ask, more: {**ask, **more},
                _asks,
                st.fixed_dictionaries(
                    {},
                    optional={
                        "remember": st.booleans(),
                        "at_deadline": st.sampled_from(["expire", "deny"]),
                    },
                ),
            ),
            "questions": _asks,
        },
    ),
    max_size=4,
).map(lambda rules: [{"name": f"rule {n}", **rule} for n, rule in enumerate(rules)])


def _read(who: Who) -> list[tuple[policy.Rule, bool, str]]:
    rows = policies.rules_of(who.member.team_id)
    return [(policy.read_rule(row.as_rule()), row.enabled, repr(row.as_rule())) for row in rows]


@settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(rules=_rules)
def test_what_was_exported_is_imported_as_the_same_rules(
    who: Who, rules: list[dict[str, Any]]
) -> None:
    bring_in(who, *rules)
    before, file = _read(who), export(who.member.team)
    assert policy_import.plan(file, who.member.team).changes_nothing
    bring_in(who)
    assert _read(who) == []
    policy_import.apply(file, seen=seen(who), who=who)
    after = _read(who)
    assert [one[:2] for one in after] == [one[:2] for one in before]
    assert export(who.member.team) == file
    bring_in(who)


# --- two at the same moment


@pytest.mark.django_db(transaction=True)
def test_of_two_imports_from_one_preview_one_is_refused_and_none_is_half(who: Who) -> None:
    looked_at = seen(who)
    ready = threading.Barrier(2)

    def one(letter: str) -> object:
        rules = [{"name": f"{letter}{number}", "effect": "ask"} for number in range(5)]
        try:
            ready.wait(timeout=5)
            return policy_import.apply(write(rules), seen=looked_at, who=who)
        except Refused as refused:
            return refused
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(one, "ab"))
    assert sum(isinstance(outcome, Refused) for outcome in outcomes) == 1
    there = names(who)
    assert len(there) == 5
    assert len({name[0] for name in there}) == 1


@pytest.mark.django_db(transaction=True)
def test_without_the_lock_both_imports_write_and_only_the_database_stops_one(
    who: Who, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: both see the policy that they looked at, and both write."""
    looked_at = seen(who)
    monkeypatch.setattr(policy_import, "locked", lambda who: who.member.team)
    both_looked = threading.Barrier(2)
    compare = policy_import._compare

    def after_both_looked(*args: Any) -> policy_import.Plan:
        both_looked.wait(timeout=5)
        return compare(*args)

    monkeypatch.setattr(policy_import, "_compare", after_both_looked)

    def one(letter: str) -> object:
        rules = [{"name": f"{letter}{number}", "effect": "ask"} for number in range(5)]
        try:
            return policy_import.apply(write(rules), seen=looked_at, who=who)
        except Exception as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(one, "ab"))
    assert sum(isinstance(outcome, DatabaseError) for outcome in outcomes) == 1

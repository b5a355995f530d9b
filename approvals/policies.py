"""The rules of a team: read in order, and changed by admins, each change one transaction."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import transaction
from django.db.models import QuerySet

from approvals import policy
from approvals.models import Effect, PolicyRule
from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member, Permission
from mcpdesk.accounts.models import Membership, Team
from mcpdesk.audit.log import Actor, record

MAX_RULES = 200
#: The one rule of a team that is set up with the desk, and of teams from before there was a gate:
#: nobody is locked out, an upgrade changes nothing. Any other team begins without, and asks.
STARTING_RULE: Final = {"name": "Starting is the permission", "effect": "allow"}
_MATCH = ("server", "tool", "starter", "arguments", "claims")


class Refused(Exception):
    """Not done, and nothing was written; `sentence` says why."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


@dataclass(frozen=True, slots=True)
class Who:
    """The admin who changes a policy, and when (UTC)."""

    member: Member
    now: datetime

    @property
    def actor(self) -> Actor:
        return Actor.person(self.member)


def active(team_id: int) -> list[dict[str, Any]]:
    """The rules that count, in order, as policy.gate() takes them."""
    return [rule.as_rule() for rule in rules_of(team_id).filter(enabled=True)]


def rules_of(team_id: int) -> QuerySet[PolicyRule]:
    """Every rule of the team in order, also those that are switched off."""
    return PolicyRule.objects.filter(team_id=team_id).order_by("position")


@transaction.atomic
def add_rule(raw: dict[str, Any], *, who: Who, enabled: bool = True) -> PolicyRule:
    """Add a rule behind all others. `raw` as policy.read_rule() takes it. Raises Refused."""
    team = _locked(who)
    values = _checked(team, raw)
    _check_name(team, values["name"], None)
    there_are = rules_of(team.pk).count()
    if there_are >= MAX_RULES:
        raise Refused(f"A policy has at most {MAX_RULES} rules.")
    rule = PolicyRule.objects.create(
        team=team, position=there_are + 1, enabled=enabled, changed_at=who.now, **values
    )
    _record("policy.added", rule, who, effect=rule.effect, number=rule.position)
    return rule


@transaction.atomic
def change_rule(rule_id: int, raw: dict[str, Any], *, version: int, who: Who) -> PolicyRule:
    """Replace what a rule says. `version` is the one that was edited. Raises Refused."""
    team = _locked(who)
    rule = _find(team, rule_id)
    if rule.version != version:
        raise Refused("Somebody else changed this rule meanwhile. Look at it again.")
    values = _checked(team, raw)
    _check_name(team, values["name"], rule)
    changed = [name for name, value in values.items() if getattr(rule, name) != value]
    if not changed:
        return rule
    for name in changed:
        setattr(rule, name, values[name])
    _save(rule, who, *changed)
    _record("policy.changed", rule, who, fields=", ".join(changed))
    return rule


@transaction.atomic
def set_enabled(rule_id: int, enabled: bool, *, who: Who) -> PolicyRule:
    """Switch a rule on or off; it keeps its place. Raises Refused."""
    rule = _find(_locked(who), rule_id)
    if rule.enabled != enabled:
        rule.enabled = enabled
        _save(rule, who, "enabled")
        _record("policy.enabled" if enabled else "policy.disabled", rule, who)
    return rule


@transaction.atomic
def move_rule(rule_id: int, up: bool, *, who: Who) -> PolicyRule:
    """Swap a rule with its neighbour; the first stays first and the last last. Raises Refused."""
    team = _locked(who)
    rule = _find(team, rule_id)
    near = rules_of(team.pk)
    other = (
        near.filter(position__lt=rule.position).last()
        if up
        else near.filter(position__gt=rule.position).first()
    )
    if other is None:
        return rule
    before = rule.position
    rule.position, other.position = other.position, rule.position
    for one in (rule, other):
        _save(one, who, "position")
    _record("policy.moved", rule, who, before=before, after=rule.position)
    return rule


@transaction.atomic
def delete_rule(rule_id: int, *, who: Who) -> None:
    """Remove a rule; approvals that it made keep what it said. Raises Refused."""
    team = _locked(who)
    rule = _find(team, rule_id)
    _record("policy.removed", rule, who, effect=rule.effect)
    rule.delete()
    for position, one in enumerate(rules_of(team.pk), start=1):
        if one.position != position:
            PolicyRule.objects.filter(pk=one.pk).update(position=position)


def _locked(who: Who) -> Team:
    """The team, so that two changes of one policy wait for each other, and the role of now."""
    team = Team.objects.select_for_update(no_key=True).get(pk=who.member.team_id)
    current = access.member_in(who.member.user, team.pk)
    if current is None or not current.may(Permission.ADMINISTER):
        raise Refused("Only an admin of the team changes its policy. Nothing was changed.")
    return team


def _find(team: Team, rule_id: int) -> PolicyRule:
    rule = rules_of(team.pk).filter(pk=rule_id).first()
    if rule is None:
        raise Refused("There is no such rule any more.")
    return rule


def _checked(team: Team, raw: dict[str, Any]) -> dict[str, Any]:
    """The columns of a rule that policy.read_rule() takes. Raises Refused."""
    try:
        rule = policy.read_rule(raw)
    except policy.BadRule as bad:
        raise Refused(bad.sentence) from None
    _check_people(team, {*rule.ask.people, *rule.starter.people})
    return {
        "name": rule.name,
        "effect": Effect(rule.effect),
        "match": {part: raw[part] for part in _MATCH if part in raw},
        "ask": rule.ask.as_json(),
    }


def _check_people(team: Team, people: set[int]) -> None:
    members = Membership.objects.filter(team=team, user_id__in=people, user__is_active=True)
    if members.count() != len(people):
        raise Refused("Somebody named in the rule is not an active member of this team.")


def _check_name(team: Team, name: str, rule: PolicyRule | None) -> None:
    others = rules_of(team.pk).filter(name=name)
    if (others.exclude(pk=rule.pk) if rule else others).exists():
        raise Refused("Another rule of this team has that name.")


def _save(rule: PolicyRule, who: Who, *fields: str) -> None:
    rule.version += 1
    rule.changed_at = who.now
    rule.save(update_fields=[*fields, "version", "changed_at"])


def _record(kind: str, rule: PolicyRule, who: Who, **data: Any) -> None:
    record(kind, team_id=rule.team_id, actor=who.actor, now=who.now, rule=rule.name, **data)

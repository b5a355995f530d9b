"""The rules of a team: read in order, and changed by admins, each change one transaction."""

import hashlib
from typing import Any, Final

from django.db import transaction
from django.db.models import QuerySet

from approvals import notices, policy, policy_versions
from approvals.models import Effect, PolicyRule
from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.models import Membership, Team
from mcpdesk.audit.admins import Who, locked
from mcpdesk.audit.log import record

MAX_RULES = 200
_SAID = ("name", "effect", "ask", "questions", "repairs_need_two")
#: The one rule of a team that is set up with the desk, and of teams from before there was a gate:
#: nobody is locked out, an upgrade changes nothing. Any other team begins without, and asks.
STARTING_RULE: Final = {"name": "Starting is the permission", "effect": "allow"}
_MATCH = ("server", "tool", "starter", "arguments", "claims")
CHANGED = "Somebody else changed this rule meanwhile. Look at it again; nothing was changed."
MOVED_ON = "Somebody else changed the policy meanwhile. Look at it again; nothing was changed."


def active(team_id: int) -> list[dict[str, Any]]:
    """The rules that count, in order, as policy.gate() takes them."""
    return [rule.as_rule() for rule in rules_of(team_id).filter(enabled=True)]


def rules_of(team_id: int) -> QuerySet[PolicyRule]:
    """Every rule of the team in order, also those that are switched off."""
    return PolicyRule.objects.filter(team_id=team_id).order_by("position")


def edition(team_id: int) -> str:
    """Names the policy as it stands: which rules, in which order, in which version."""
    rows = rules_of(team_id).values_list("pk", "version")
    return hashlib.sha256(repr(list(rows)).encode()).hexdigest()[:16]


@transaction.atomic
def add_rule(raw: dict[str, Any], *, who: Who, enabled: bool = True) -> PolicyRule:
    """Add a rule behind all others. `raw` as policy.read_rule() takes it. Raises Refused."""
    team = locked(who)
    values = checked(team, raw)
    _check_name(team, values["name"], None)
    there_are = rules_of(team.pk).count()
    if there_are >= MAX_RULES:
        raise Refused(f"A policy has at most {MAX_RULES} rules.")
    rule = insert(team, values, place=there_are + 1, enabled=enabled, who=who)
    keep(who)
    return rule


def insert(
    team: Team, values: dict[str, Any], *, place: int, enabled: bool, who: Who
) -> PolicyRule:
    """The row of a new rule and its event; `values` as checked() gives them, `team` locked."""
    rule = PolicyRule.objects.create(
        team=team, position=place, enabled=enabled, changed_at=who.now, **values
    )
    _record("policy.added", rule, who, effect=rule.effect, number=rule.position)
    return rule


@transaction.atomic
def change_rule(rule_id: int, raw: dict[str, Any], *, version: int, who: Who) -> PolicyRule:
    """Replace what a rule says. `version` is the one that was edited. Raises Refused."""
    team = locked(who)
    rule = _find(team, rule_id, version)
    values = checked(team, raw)
    _check_name(team, values["name"], rule)
    rewrite(rule, values, who=who)
    keep(who)
    return rule


def rewrite(rule: PolicyRule, values: dict[str, Any], *, who: Who) -> list[str]:
    """Give a locked rule the values of checked(), with its event; returns what was different."""
    changed, before = changes(rule, values), rule.name
    if changed:
        for name, value in values.items():
            setattr(rule, name, value)
        _save(rule, who, *values)
        notices.rule_applies(rule.team_id, before, who.now)
        _record("policy.changed", rule, who, fields=", ".join(changed))
    if rule.name != before:
        _record("policy.renamed", rule, who, before=before)
    return changed


def changes(rule: PolicyRule, values: dict[str, Any]) -> list[str]:
    """In which parts a rule would be another one with these values."""
    now = policy.read_rule({**values["match"], **{name: values[name] for name in _SAID}})
    try:
        return policy.differences(policy.read_rule(rule.as_rule()), now)
    except policy.BadRule:
        return ["what could not be read"]


@transaction.atomic
def set_enabled(rule_id: int, enabled: bool, *, version: int, who: Who) -> PolicyRule:
    """Switch a rule on or off; it keeps its place. Raises Refused."""
    rule = _find(locked(who), rule_id, version)
    switch(rule, enabled, who=who)
    keep(who)
    return rule


def switch(rule: PolicyRule, enabled: bool, *, who: Who) -> bool:
    """Switch a locked rule on or off, with its event; returns whether it was different."""
    if rule.enabled == enabled:
        return False
    rule.enabled = enabled
    _save(rule, who, "enabled")
    notices.rule_applies(rule.team_id, rule.name, who.now)
    _record("policy.enabled" if enabled else "policy.disabled", rule, who)
    return True


@transaction.atomic
def move_rule(rule_id: int, place: int, *, seen: str, who: Who) -> PolicyRule:
    """Put a rule at a place (from 1; beyond the ends: at the end), the others close up.

    `seen`: the edition() that was looked at. Raises Refused.
    """
    team = locked(who)
    rule = _find(team, rule_id)
    if edition(team.pk) != seen:
        raise Refused(MOVED_ON)
    others = list(rules_of(team.pk).exclude(pk=rule.pk))
    others.insert(min(max(place, 1), len(others) + 1) - 1, rule)
    before = rule.position
    put_in_order(others)
    keep(who)
    rule.refresh_from_db(fields=["position"])
    if rule.position != before:
        _record("policy.moved", rule, who, before=before, after=rule.position)
    return rule


def put_in_order(rules: list[PolicyRule]) -> None:
    """Number the rules of one locked policy from 1."""
    for position, rule in enumerate(rules, start=1):
        if rule.position != position:
            PolicyRule.objects.filter(pk=rule.pk).update(position=position)


@transaction.atomic
def delete_rule(rule_id: int, *, version: int, who: Who) -> None:
    """Remove a rule; approvals that it made keep what it said. Raises Refused."""
    team = locked(who)
    remove(_find(team, rule_id, version), who=who)
    put_in_order(list(rules_of(team.pk)))
    keep(who)


def remove(rule: PolicyRule, *, who: Who) -> None:
    """Remove a locked rule, with its event; the places of the others are the caller's."""
    _record("policy.removed", rule, who, effect=rule.effect)
    notices.rule_applies(rule.team_id, rule.name, who.now)
    rule.delete()


def keep(who: Who) -> None:
    """Note in the history what the policy says now: at the end of each change of it."""
    policy_versions.keep(who.member.team_id, active(who.member.team_id), who.member.user)


def _find(team: Team, rule_id: int, version: int | None = None) -> PolicyRule:
    """A rule of the locked policy; `version`: as it was seen, None: whatever it says by now."""
    rule = rules_of(team.pk).filter(pk=rule_id).first()
    if rule is None:
        raise Refused("There is no such rule any more.")
    if version is not None and rule.version != version:
        raise Refused(CHANGED)
    return rule


def checked(team: Team, raw: dict[str, Any]) -> dict[str, Any]:
    """The columns of a rule that policy.read_rule() takes. Raises Refused."""
    try:
        rule = policy.read_rule(raw)
    except policy.BadRule as bad:
        raise Refused(bad.sentence) from None
    for ask in (rule.ask, *([rule.questions] if rule.questions else [])):
        _check_minutes(ask)
    _check_people(team, rule.named)
    return {
        "name": rule.name,
        "effect": Effect(rule.effect),
        "match": {part: raw[part] for part in _MATCH if part in raw},
        "ask": rule.ask.as_json(),
        "questions": rule.questions.as_json() if rule.questions else None,
        "repairs_need_two": rule.repairs_need_two,
    }


def _check_minutes(ask: policy.Ask) -> None:
    """The form speaks of minutes: what it could not show would be lost by the next edit."""
    spans = [step.after_s for step in ask.escalation]
    if any(span % 60 for span in (*spans, ask.deadline_s or 0)):
        raise Refused("Deadlines and steps are whole minutes.")


def _check_people(team: Team, people: set[int]) -> None:
    if not people:
        return
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

"""Import a policy from a file (policy_export): looked at first, then in one transaction.

What is imported takes the place of the whole policy; rules are known again by their names.
"""

from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction

from approvals import policies, policy, policy_files
from approvals.models import PolicyRule
from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.models import Membership, Team
from mcpdesk.audit.admins import Who, locked
from mcpdesk.audit.log import record


@dataclass(frozen=True, slots=True)
class Entry:
    """One rule in the preview of an import. `parts`: in what it changes; all, where it is new.

    `place` and `before` count from 1; None: it is removed, or it was not there.
    """

    name: str
    place: int | None = None
    before: int | None = None
    parts: tuple[str, ...] = ()
    moves: bool = False
    rule: policy.Rule | None = None

    @property
    def what(self) -> str:
        """added, removed, changed, moved or kept."""
        if self.before is None:
            return "added"
        if self.place is None:
            return "removed"
        if self.parts:
            return "changed"
        return "moved" if self.moves else "kept"


@dataclass(frozen=True, slots=True)
class Plan:
    """What an import would do to the policy as it stands; `seen` names that (policies.edition)."""

    seen: str
    entries: tuple[Entry, ...]

    def count(self, what: str) -> int:
        return sum(entry.what == what for entry in self.entries)

    @property
    def changes_nothing(self) -> bool:
        return self.count("kept") == len(self.entries)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A rule of the file: its columns, and whether it is on."""

    values: dict[str, Any]
    enabled: bool
    rule: policy.Rule


def plan(text: str, team: Team) -> Plan:
    """What importing this file would do; nothing is written. Raises Refused."""
    return _compare(_there(team), _wanted(text, team), policies.edition(team.pk))


@transaction.atomic
def apply(text: str, *, seen: str, who: Who) -> Plan:
    """Replace the policy by this file's, all of it or nothing. `seen`: the Plan's. Raises Refused.

    Returns what was done.
    """
    team = locked(who)
    if policies.edition(team.pk) != seen:
        raise Refused(policies.MOVED_ON)
    there, wanted = _there(team), _wanted(text, team)
    done = _compare(there, wanted, seen)
    if done.changes_nothing:
        return done
    for name in there.keys() - {one.rule.name for one in wanted}:
        policies.remove(there[name], who=who)
    in_order = [
        _write(team, place, one, there.get(one.rule.name), who)
        for place, one in enumerate(wanted, start=1)
    ]
    policies.put_in_order(in_order)
    policies.keep(who)
    _record(team, done, who)
    return done


def _there(team: Team) -> dict[str, PolicyRule]:
    return {rule.name: rule for rule in policies.rules_of(team.pk)}


def _compare(there: dict[str, PolicyRule], wanted: list[_Wanted], seen: str) -> Plan:
    moved = _moved(there, wanted)
    entries = [
        _planned(place, one, there.get(one.rule.name), one.rule.name in moved)
        for place, one in enumerate(wanted, start=1)
    ]
    names = {one.rule.name for one in wanted}
    gone = [Entry(name, before=rule.position) for name, rule in there.items() if name not in names]
    return Plan(seen, (*entries, *gone))


def _write(team: Team, place: int, one: _Wanted, rule: PolicyRule | None, who: Who) -> PolicyRule:
    if rule is None:
        return policies.insert(team, one.values, place=place, enabled=one.enabled, who=who)
    policies.rewrite(rule, one.values, who=who)
    policies.switch(rule, one.enabled, who=who)
    return rule


def _record(team: Team, done: Plan, who: Who) -> None:
    for entry in done.entries:
        if entry.moves:
            places = {"before": entry.before, "after": entry.place}
            fields: dict[str, Any] = {"rule": entry.name, **places}
            record("policy.moved", team_id=team.pk, actor=who.actor, now=who.now, **fields)
    counts: dict[str, Any] = {what: done.count(what) for what in ("added", "changed", "removed")}
    record("policy.imported", team_id=team.pk, actor=who.actor, now=who.now, **counts)


def _planned(place: int, one: _Wanted, rule: PolicyRule | None, moves: bool) -> Entry:
    entry = Entry(one.rule.name, place=place, rule=one.rule, moves=moves)
    if rule is None:
        return entry
    parts = policies.changes(rule, one.values)
    if rule.enabled != one.enabled:
        parts.append("switched on" if one.enabled else "switched off")
    return replace(entry, before=rule.position, parts=tuple(parts))


def _moved(there: dict[str, PolicyRule], wanted: list[_Wanted]) -> set[str]:
    """The rules that stay, and change places among those that stay."""
    after = [one.rule.name for one in wanted if one.rule.name in there]
    before = sorted(after, key=lambda name: there[name].position)
    return {name for name, other in zip(after, before, strict=True) if name != other}


def _wanted(text: str, team: Team) -> list[_Wanted]:
    """The rules of a file, each checked as one that is typed. Raises Refused."""
    try:
        given = policy_files.read(text)
    except policy_files.BadFile as bad:
        raise Refused(bad.sentence) from None
    if len(given) > policies.MAX_RULES:
        raise Refused(f"A policy has at most {policies.MAX_RULES} rules.")
    ids = _ids_by_address(team)
    wanted: dict[str, _Wanted] = {}
    for number, raw in enumerate(given, start=1):
        try:
            one = _one(raw, team, ids)
        except (Refused, policy.BadRule) as bad:
            raise Refused(f"{_called(number, raw)}: {bad.sentence}") from None
        if one.rule.name in wanted:
            raise Refused(f"{_called(number, raw)}: another rule of the file has that name.")
        wanted[one.rule.name] = one
    return list(wanted.values())


def _one(raw: Any, team: Team, ids: dict[str, int]) -> _Wanted:
    if not isinstance(raw, dict):
        raise Refused("a rule is a list of names and values, from “name:” on.")
    enabled = raw.get("enabled", True)
    if not isinstance(enabled, bool):
        raise Refused("“enabled” is true or false.")
    said = {name: value for name, value in raw.items() if name != "enabled"}
    rule = policy_files.with_people(said, lambda people: _ids(people, ids))
    return _Wanted(policies.checked(team, rule), enabled, policy.read_rule(rule))


def _called(number: int, raw: Any) -> str:
    name = raw.get("name") if isinstance(raw, dict) else None
    return f"Rule {number} ({name[:80]})" if isinstance(name, str) and name else f"Rule {number}"


def _ids_by_address(team: Team) -> dict[str, int]:
    members = Membership.objects.filter(team=team, user__is_active=True)
    return {email.lower(): pk for email, pk in members.values_list("user__email", "user_id")}


def _ids(people: Any, ids: dict[str, int]) -> list[int]:
    if not isinstance(people, list) or not all(isinstance(one, str) for one in people):
        raise policy.BadRule("People are named by their e-mail addresses, in a list.")
    for address in people:
        if address.lower() not in ids:
            raise policy.BadRule(f"Nobody who is active in this team has the address {address}.")
    return [ids[address.lower()] for address in people]

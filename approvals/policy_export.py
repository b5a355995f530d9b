"""A team's policy as a file: rules as policy.read_rule() takes them, people by their addresses."""

from typing import Any, Final

from approvals import policies, policy, policy_files
from approvals.models import PolicyRule
from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.models import Team, User

_PARTS: Final = ("server", "tool", "starter", "arguments", "claims")
#: What a rule says where the file says nothing; left out of an export.
_ASSUMED: Final[dict[str, Any]] = {
    "server": "*",
    "tool": "*",
    "starter": {"kind": "anyone"},
    "arguments": [],
    "claims": {},
}


def export(team: Team) -> str:
    """The team's rules as a file. Raises Refused where one of them cannot be read."""
    rules = list(policies.rules_of(team.pk))
    read = [_readable(number, rule) for number, rule in enumerate(rules, start=1)]
    named = {pk for rule in read for pk in rule.named}
    addresses = dict(User.objects.filter(pk__in=named).values_list("pk", "email"))
    entries = [_entry(row, rule, addresses) for row, rule in zip(rules, read, strict=True)]
    return policy_files.write(
        entries, [f"The policy of {team.name}: the first rule that matches decides"]
    )


def _readable(number: int, rule: PolicyRule) -> policy.Rule:
    try:
        return policy.read_rule(rule.as_rule())
    except policy.BadRule as bad:
        raise Refused(f"Mend or delete rule {number} ({rule.name}) first: {bad.sentence}") from None


def _entry(row: PolicyRule, rule: policy.Rule, addresses: dict[int, str]) -> dict[str, Any]:
    """One rule for the file, without what goes without saying."""
    raw = row.as_rule()
    entry: dict[str, Any] = {"name": row.name, "effect": row.effect}
    if not row.enabled:
        entry["enabled"] = False
    for part in _PARTS:
        if part in raw and raw[part] != _ASSUMED[part]:
            entry[part] = raw[part]
    if rule.ask != policy.DEFAULT_ASK:
        entry["ask"] = _short(rule.ask)
    if rule.questions is not None:
        entry["questions"] = _short(rule.questions)
    if rule.repairs_need_two:
        entry["repairs_need_two"] = True
    return policy_files.with_people(entry, lambda people: [addresses[pk] for pk in people])


def _short(ask: policy.Ask) -> dict[str, Any]:
    found = ask.as_json()
    for part in ("people", "escalation", "remember"):
        if not found[part]:
            del found[part]
    for step in found.get("escalation", ()):
        if not step["people"]:
            del step["people"]
    return found

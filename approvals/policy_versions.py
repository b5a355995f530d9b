"""What a team's policy said at any time: the whole of it is kept, each time it changes."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from approvals.models import PolicyVersion
from mcpdesk.accounts.models import User


@dataclass(frozen=True, slots=True)
class Then:
    """The rules that counted at a moment, as policy.gate() takes them.

    `known`: False before the desk kept the history of this team's policy; then there are no rules.
    `since`, `by`: when it came to say so, and by whom; None: from the beginning, or the upgrade.
    """

    rules: list[dict[str, Any]]
    known: bool = True
    since: datetime | None = None
    by: User | None = None


def keep(team_id: int, rules: list[dict[str, Any]], by: User) -> None:
    """Note what a locked policy says from now on, where that is something else than before.

    `rules`: those that count, in order. In the transaction that changed them.
    """
    last = PolicyVersion.objects.filter(team_id=team_id).last()
    if last is None or last.rules != rules:
        PolicyVersion.objects.create(team_id=team_id, rules=rules, by=by)


def at(team_id: int, moment: datetime) -> Then:
    """What the policy said at a moment (aware UTC)."""
    versions = PolicyVersion.objects.filter(team_id=team_id).select_related("by")
    found = versions.filter(at__lte=moment).last()
    if found is not None:
        return Then(found.rules, since=found.at, by=found.by)
    first = versions.first()
    # an upgrade notes what there is, by nobody: what was before is not known
    return Then([], known=first is None or first.by_id is not None)

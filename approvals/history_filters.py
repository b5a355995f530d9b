"""What the history of approvals can be narrowed by (see tasks_monitor.history_filters)."""

from dataclasses import dataclass

from django.db.models import Q

from approvals.models import ApprovalState, Choice, Kind, Verdict
from tasks_monitor.history_filters import HistoryFilters

DECISIONS = [*Verdict.choices, *Choice.choices]


@dataclass(frozen=True, slots=True)
class ApprovalFilters(HistoryFilters):
    """What narrows the history of approvals; durations are from the asking to the end."""

    kind: str = ""  # a Kind
    state: str = ""  # an ApprovalState
    decision: str = ""  # a Verdict or a Choice

    @classmethod
    def means(cls, name: str, value: str) -> bool:
        known: dict[str, list[str]] = {
            "kind": Kind.values,
            "state": ApprovalState.values,
            "decision": [value for value, _ in DECISIONS],
        }
        if name in known:
            return value in known[name]
        # zero-argument super() does not find its class where slots made a new one
        return super(ApprovalFilters, cls).means(name, value)

    def conditions(self, team_id: int) -> Q:
        found = super(ApprovalFilters, self).conditions(team_id)
        for name in ("kind", "state", "decision"):
            value = getattr(self, name)
            found &= Q(**{name: value}) if value else Q()
        return found

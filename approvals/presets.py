"""Reasons that a team's people often give: picked on a gate's form instead of typed."""

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from approvals.models import ReasonPreset, Verdict
from mcpdesk.audit.admins import locked_for
from mcpdesk.audit.log import Actor, record
from mcpdesk.mcp.jsontext import storable

MAX_PRESETS = 20
MAX_CHARS = 200


@dataclass(frozen=True, slots=True)
class Invalid:
    """Nothing was saved; a sentence that says why."""

    sentence: str


def of(team_id: int) -> QuerySet[ReasonPreset]:
    """A team's reasons, each group in the order in which it was written."""
    return ReasonPreset.objects.filter(team_id=team_id)


@transaction.atomic(durable=True)
def replace(
    team_id: int, *, approve: str, deny: str, actor: Actor, now: datetime
) -> Invalid | None:
    """Make these the team's reasons, one a line; None: saved.

    The same as before writes nothing. The team is locked: of two admins the later one stays. Raises
    PermissionDenied.
    """
    wanted = {Verdict.APPROVE: _lines(approve), Verdict.DENY: _lines(deny)}
    problem = _problem([line for lines in wanted.values() for line in lines], wanted)
    if problem:
        return Invalid(problem)
    team = locked_for(actor, team_id)
    new = [(verdict, line) for verdict, lines in wanted.items() for line in lines]
    if new == [(Verdict(old.verdict), old.text) for old in of(team_id)]:
        return None
    of(team_id).delete()
    ReasonPreset.objects.bulk_create(
        ReasonPreset(team=team, verdict=verdict, text=text) for verdict, text in new
    )
    record("policy.reasons_changed", team_id=team_id, actor=actor, now=now, count=len(new))
    return None


def _lines(text: str) -> list[str]:
    """What stands in the lines, each once."""
    return list(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))


def _problem(lines: list[str], groups: dict[Verdict, list[str]]) -> str:
    if any(len(group) > MAX_PRESETS for group in groups.values()):
        return f"There are at most {MAX_PRESETS} reasons of each kind. Nothing was saved."
    if any(len(line) > MAX_CHARS or not storable(line) for line in lines):
        return f"A reason has at most {MAX_CHARS} characters of text. Nothing was saved."
    return ""

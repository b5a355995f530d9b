"""Lists by the filters of the history: the same values that stand in the addresses of its pages."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal, TypeVar

from ninja import Field, Schema
from pydantic import StringConstraints

from approvals.models import ApprovalState, Kind
from mcpdesk.accounts.access import Member
from mcpdesk.api.problems import Problem
from mcpdesk.api.schemas import ServerName
from mcpdesk.narrowing import MAX_CHARS
from tasks_monitor import selectors
from tasks_monitor.history_filters import HistoryFilters, Sort
from tasks_monitor.models import Server
from tasks_monitor.states import State

NOTHING: Final = "This means nothing here."

FiltersT = TypeVar("FiltersT", bound=HistoryFilters)

_Text = Annotated[str, StringConstraints(pattern=r"^[^\x00]*$", max_length=MAX_CHARS)]


class Wanted(Schema):
    """What narrows any list."""

    server: ServerName | None = None
    tool: _Text = Field("", description="Its whole name.")
    started_by: _Text = Field("", description="A person's id, or `service`.")
    decided_by: _Text = Field("", description="A person's id: they had a say in it.")
    since: _Text = Field("", description="A day (UTC) or a moment (ISO 8601): begun then or later.")
    until: _Text = Field("", description="Begun then or earlier; a day is meant to its end.")
    longer: _Text = Field("", description="Took so long or longer: 90s, 15m, 2h, 3d.")
    shorter: _Text = Field("", description="Took so long or less.")
    text: _Text = Field("", description="All of these words, in what the token may read.")
    sort: Sort = Sort.NEWEST


#: A history_filters.Outcome: another Outcome is in the document already.
OutcomeIs = Literal["succeeded", "tool_error", "ended_otherwise", "needs_operator", "not_ended"]


class WantedOperations(Wanted):
    state: State | None = None
    outcome: OutcomeIs | None = None


#: A Verdict or a Choice: as one type, so that a wrong one is named as this field.
DecisionIs = Literal["approve", "deny", "accept", "decline", "cancel"]


class WantedApprovals(Wanted):
    kind: Kind | None = None
    state: ApprovalState | None = None
    decision: DecisionIs | None = None


def filters_of(kind: type[FiltersT], member: Member, wanted: Wanted) -> FiltersT:
    """The filters as pages read them. Raises Problem for a value that would not narrow anything."""
    given = wanted.model_dump(exclude_unset=True, exclude_none=True)
    return kind.read(meant(kind.means, member, given))


def meant(
    means: Callable[[str, str], bool], member: Member, given: Mapping[str, Any], inside: str = ""
) -> dict[str, str]:
    """Filters as an address has them: the server by its id. Raises Problem for each that would not
    narrow anything, named as a field `inside` what was sent.
    """
    values = {name: str(value) for name, value in given.items()}
    if "server" in values:
        values["server"] = str(server_of(member, values["server"], f"{inside}server").pk)
    wrong = [name for name, value in values.items() if not means(name, value.strip())]
    if wrong:
        errors = [{"field": f"{inside}{name}"[:100], "detail": NOTHING} for name in wrong]
        raise Problem(422, "Something that was sent means nothing here.", errors=errors)
    return values


def check_cursor(is_cursor: bool, cursor: str) -> None:
    """Raise Problem for a cursor that would begin the list anew."""
    if cursor and not is_cursor:
        errors = [{"field": "after", "detail": "This list has given no such cursor."}]
        raise Problem(422, "Something that was sent means nothing here.", errors=errors)


def server_of(member: Member, name: str, field: str = "server") -> Server:
    """A server of the team by its name, sent as that field. Raises Problem."""
    found = selectors.shown_servers(member).filter(name=name).first()
    if found is None:
        detail = "There is no such server in this team."
        raise Problem(422, detail, "server", errors=[{"field": field, "detail": detail}])
    return found

"""Lists by the filters of the history: the same values that stand in the addresses of its pages."""

from typing import Annotated, Any, TypeVar

from ninja import Field, Schema
from pydantic import StringConstraints

from approvals.models import ApprovalState, Choice, Kind, Verdict
from mcpdesk.accounts.access import Member
from mcpdesk.api.problems import Problem
from mcpdesk.api.schemas import ServerName
from tasks_monitor import selectors
from tasks_monitor.history_filters import MAX_CHARS, HistoryFilters, Outcome, Sort
from tasks_monitor.models import Server
from tasks_monitor.states import State

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


class WantedOperations(Wanted):
    state: State | None = None
    outcome: Outcome | None = None


class WantedApprovals(Wanted):
    kind: Kind | None = None
    state: ApprovalState | None = None
    decision: Choice | Verdict | None = None


def filters_of(kind: type[FiltersT], member: Member, wanted: Wanted) -> FiltersT:
    """The filters as pages read them. Raises Problem for a value that would not narrow anything."""
    given: dict[str, Any] = wanted.model_dump(exclude_none=True)
    if wanted.server is not None:
        given["server"] = server_of(member, wanted.server).pk
    values = {name: str(value) for name, value in given.items() if value != ""}
    wrong = [name for name, value in values.items() if not kind.means(name, value)]
    if wrong:
        errors = [{"field": name, "detail": "This means nothing here."} for name in wrong]
        raise Problem(422, "Something that was sent means nothing here.", errors=errors)
    return kind.read(values)


def server_of(member: Member, name: str) -> Server:
    """A server of the team by its name. Raises Problem."""
    found = selectors.shown_servers(member).filter(name=name).first()
    if found is None:
        raise Problem(422, "There is no such server in this team.", "server")
    return found

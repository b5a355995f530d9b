"""What goes in and out, as the OpenAPI document describes it. Times are UTC."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal
from uuid import UUID

from ninja import Field, Schema
from pydantic import ConfigDict, StringConstraints

from approvals.models import ApprovalState, Choice, Kind, Shape, Verdict
from approvals.standing import Standing
from mcpdesk.accounts.tokens import Scope
from mcpdesk.audit.models import ExportFormat
from tasks_monitor.engine.reconcile import MAX_CHARS as MAX_REPAIR_CHARS
from tasks_monitor.models import Answerers, RepairState
from tasks_monitor.outcome import Outcome
from tasks_monitor.states import State

#: Text that PostgreSQL keeps: without NUL.
Text = Annotated[str, StringConstraints(pattern=r"^[^\x00]*$")]
#: A server of the team, by its name.
ServerName = Annotated[str, StringConstraints(pattern=r"^[^\x00/]+$", max_length=40)]


class Strict(Schema):
    """Takes what it names and nothing else: a misspelt field is an error, never ignored."""

    model_config = ConfigDict(extra="forbid")


class Needs(StrEnum):
    """Who has to do something before it goes on."""

    PEOPLE = "people"
    OPERATOR = "operator"


class Links(Schema):
    """`self` for programs, `page` for people."""

    self: str
    page: str


class Waiting(Schema):
    """An open item: a question that somebody has to answer before the operation goes on."""

    id: UUID
    kind: Kind
    links: Links


class OperationRow(Schema):
    id: UUID
    server: str
    tool: str
    state: State
    words: str = Field(description="The state as pages say it.")
    outcome: Outcome | None = Field(description="Null until it has ended.")
    needs: Needs | None
    started_by: str = Field(description="A person's name, or a service's.")
    by_service: bool
    adopted: bool
    reason: str
    created_at: datetime
    updated_at: datetime
    finished_at: datetime | None
    links: Links


class OperationOut(OperationRow):
    explanation: str = Field(description="Why it ended so, or waits for an operator.")
    error_code: int | None
    cancel_requested_at: datetime | None
    waiting: list[Waiting]
    payload_visible: bool = Field(
        description="Whether this token may see arguments, result and error at all."
    )
    arguments: Any = None
    message: str = Field("", description="What the server last said beside its status.")
    result: Any = Field(None, description="The CallToolResult, as the server sent it.")
    error: Any = Field(None, description="The JSON-RPC error, as the server sent it.")


class Operations(Schema):
    items: list[OperationRow]
    after: str = Field(description="Continues the list; empty: it ends here.")


class Start(Strict):
    server: ServerName
    tool: Text = Field(min_length=1, max_length=256)
    arguments: dict[str, Any] = Field(default_factory=dict)
    reason: Text = Field("", max_length=500)
    questions_to: Answerers | None = Field(
        None, description="Whom the server's questions are put to; null: as the server is set."
    )
    repeatable: bool = Field(
        False, description="The call may be sent again by itself when its outcome stays unknown."
    )


class Adopt(Strict):
    server: ServerName
    task_id: str = Field(min_length=1, max_length=1024)
    tool: Text = Field(min_length=1, max_length=256)
    reason: Text = Field("", max_length=500)
    questions_to: Answerers | None = None


class FormField(Schema):
    """One field of a form. `name`, `label` and `help` are the server's words."""

    name: str
    label: str
    help: str
    kind: str
    required: bool
    secret: bool = Field(description="It seems to ask for a password, a token or a key.")
    choices: list[Any]


class Question(Schema):
    """What the server asks, in its own words except `problem`."""

    message: str
    fields: list[FormField]
    requested_schema: Any = None
    link: str = Field("", description="An address to open, shown whole. Never fetched by the desk.")
    warnings: list[str] = Field(description="What the desk says of the link.")
    problem: str = Field(description="Why it cannot be answered, or only refused.")


class VoteOut(Schema):
    by: str
    said: Choice | Verdict
    at: datetime
    reason: str


class ApprovalRow(Schema):
    id: UUID
    operation_id: UUID
    kind: Kind
    shape: Shape
    state: ApprovalState
    decision: Choice | Verdict | None
    server: str
    tool: str
    started_by: str
    reason: str
    created_at: datetime
    deadline_at: datetime | None
    closed_at: datetime | None
    links: Links


class ApprovalOut(ApprovalRow):
    version: int
    binding: str | None = Field(
        description="Proof of what is shown here, to be sent with the decision; null: not yours."
    )
    standing: Standing = Field(description="How you stand to it.")
    can_be_said: list[Choice | Verdict]
    four_eyes: bool
    agreed: int
    needed: int
    votes: list[VoteOut]
    decided_by: str | None
    decided_at: datetime | None
    payload_visible: bool
    arguments: Any = None
    question: Question | None = None
    proposal: Any = Field(None, description="The answer that stands proposed, without secrets.")


class Approvals(Schema):
    items: list[ApprovalRow]
    after: str


class Decision(Strict):
    binding: str = Field(max_length=2000, description="As it was read with the approval.")
    choice: Choice | Verdict
    reason: Text = Field("", max_length=500, description="Of a gate: why. Needed to deny.")
    content: dict[str, Any] = Field(
        default_factory=dict, description="Of a form: a value for each field."
    )
    gives_secrets: bool = Field(
        False, description="You mean to give this server what its form asks for as a secret."
    )
    proposes: bool = Field(
        False, description="This answer is to take the place of the one that stands proposed."
    )


class Decided(Schema):
    """`final` false: it counts, and more people have to agree."""

    final: bool
    sentence: str
    approval: ApprovalOut


#: An engine.reconcile.Choice: another Choice is in the document already.
RepairBy = Literal["send_again", "attach_task", "record_done", "record_failed"]


class RepairChoice(Schema):
    """One thing that can become of an operation that broke, and what comes of that."""

    choice: RepairBy
    words: str
    consequence: str
    gate: str = Field(description="What the policy makes of sending it again; empty: nothing.")
    why_not: str = Field(description="Why it cannot be chosen; empty: it can.")
    needs: Literal["", "task_id", "evidence"] = Field(description="What is given beside a reason.")


class FactOut(Schema):
    """One thing the desk knows. `more`: what went wrong, often in a server's words."""

    words: str
    at: datetime | None
    more: str


class RepairOut(Schema):
    """What somebody proposed, or did."""

    id: int
    choice: RepairBy
    state: RepairState
    reason: str
    evidence: str
    task_id: str = Field(description="While it is proposed; afterwards empty.")
    refused_because: str
    proposed_by: str
    proposed_at: datetime
    decided_by: str | None
    decided_at: datetime | None
    yours: bool = Field(description="You proposed it: somebody else says yes or no.")


class PastRepair(RepairOut):
    """What was decided before."""

    at_the_gate: str = Field(
        description="What came of a call that had to be approved before it was sent again, or that "
        "it waits there; empty: it did not have to."
    )


class Repairs(Schema):
    """All there is to read before it is said what becomes of an operation."""

    operation_id: UUID
    state: State
    words: str
    explanation: str
    broken: bool = Field(description="It is lost, stuck or unknown: there is something to repair.")
    known: list[FactOut]
    not_known: str
    choices: list[RepairChoice] = Field(description="Empty where there is nothing to repair.")
    needs_two: bool = Field(description="What you choose is proposed to a second person.")
    proposed: RepairOut | None
    past: list[PastRepair]
    seen: str = Field(description="Stands for all this; to be sent back with what is decided.")
    links: Links


class Seen(Strict):
    seen: Text = Field(max_length=64, description="As it was read.")


class Repair(Seen):
    choice: RepairBy
    reason: Text = Field(min_length=1, max_length=MAX_REPAIR_CHARS)
    evidence: Text = Field(
        "", max_length=MAX_REPAIR_CHARS, description="What shows that it was done."
    )
    task_id: str = Field("", max_length=1024, description="The task to follow from now on.")


class RefuseRepair(Seen):
    reason: Text = Field(min_length=1, max_length=MAX_REPAIR_CHARS)


class CameTo(StrEnum):
    """`waits_for_approval`: the policy asks before it is sent again."""

    DONE = "done"
    WAITS_FOR_APPROVAL = "waits_for_approval"
    PROPOSED = "proposed"
    REFUSED = "refused"
    TAKEN_BACK = "taken_back"


class Repaired(Schema):
    came_to: CameTo
    repairs: Repairs


class ServerOut(Schema):
    name: str
    host: str
    identity: str
    paused: bool
    reachable: bool
    protocol_version: str
    questions_to: Answerers
    tools: int
    open_operations: int
    links: Links


class ToolOut(Schema):
    """Everything but `problem` is the server's own claim."""

    name: str
    title: str
    description: str
    claims: list[str]
    input_schema: Any
    problem: str = Field(description="Why it cannot be called; empty: it can.")


class EventOut(Schema):
    id: int
    at: datetime
    kind: str
    sentence: str
    actor: str
    channel: str
    operation_id: UUID | None
    approval_id: UUID | None
    server_id: int | None
    data: dict[str, str | int | float | bool]


class Events(Schema):
    items: list[EventOut]
    after: int = Field(description="Ask again with this; the same as before: nothing new yet.")


class BeginExport(Strict):
    subject: Literal["operations", "approvals", "events"]
    format: ExportFormat = ExportFormat.NDJSON
    filters: dict[Text, Text] = Field(
        default_factory=dict,
        max_length=20,
        description="Those of the list, the server by its name.",
    )
    payloads: bool = Field(
        False, description="With arguments and results, for who may see those of everybody."
    )


class ExportLinks(Links):
    file: str


class ExportOut(Schema):
    id: UUID
    subject: str
    format: ExportFormat
    begun_by: str = Field(description="A person's name, or a service's.")
    rows: int = Field(description="How many were sent so far.")
    created_at: datetime
    finished_at: datetime | None
    links: ExportLinks


class Me(Schema):
    """Whose token this is, and what it is good for now."""

    kind: Literal["person", "service"]
    name: str
    team: str
    role: str | None
    token: str
    scopes: list[Scope]
    expires_at: datetime | None

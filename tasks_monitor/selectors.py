"""What pages read: lists of operations and servers, one operation, its questions and timeline.

Everything is scoped by mcpdesk.accounts.access. Approvals belong to the layer above; their rows are
reached through the reverse relations by name, never imported.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum, auto
from typing import Any

from cryptography.fernet import InvalidToken
from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from mcpdesk.accounts.access import Member, deciders, in_team, may_see_payload
from mcpdesk.audit import legal
from mcpdesk.keyset import Order, Slice
from tasks_monitor import history
from tasks_monitor.models import (
    Delivery,
    DeliveryState,
    HistoryEntry,
    Hold,
    InputRequest,
    InputRequestSource,
    InputRequestState,
    Operation,
    Payload,
    Server,
    Tool,
)
from tasks_monitor.states import NEEDS_OPERATOR, TERMINAL, State

PAGE_ROWS = 50
#: So many people are named, and the rest are others.
MAX_NAMED = 8


class Tab(StrEnum):
    """The lists of operations."""

    OPEN = auto()
    WAITING = auto()
    ATTENTION = auto()
    ENDED = auto()
    ALL = auto()


_NOT_ENDED = frozenset(State) - TERMINAL
STATES_OF: dict[Tab, frozenset[State]] = {
    Tab.OPEN: _NOT_ENDED,
    Tab.WAITING: frozenset({State.AWAITING_APPROVAL, State.INPUT_REQUIRED}),
    Tab.ATTENTION: NEEDS_OPERATOR,
    Tab.ENDED: TERMINAL,
    Tab.ALL: frozenset(State),
}


#: Left out of rows: each value costs a decryption, and no list shows one.
_ENCRYPTED = ("task_id", "server__credential", "server__discovery")


def operations(member: Member, tab: Tab) -> QuerySet[HistoryEntry]:
    """The lines of the team's operations on one tab."""
    lines = in_team(member, HistoryEntry.objects.defer("words"))
    return lines if tab is Tab.ALL else lines.filter(state__in=STATES_OF[tab])


def counts(member: Member) -> dict[Tab, int]:
    """How many there are on each tab whose number stays small; ended ones are not counted."""
    open_ones = in_team(member, HistoryEntry.objects.filter(state__in=_NOT_ENDED))
    per_state: dict[str, int] = dict(open_ones.values_list("state").annotate(Count("pk")))
    return {
        tab: sum(number for state, number in per_state.items() if state in STATES_OF[tab])
        for tab in (Tab.OPEN, Tab.WAITING, Tab.ATTENTION)
    }


def page(lines: QuerySet[HistoryEntry], cursor: str) -> Slice[Operation]:
    """Newest first, with what a row shows: also whether somebody is asked something now."""
    found = history.page_of(lines, Order("created_at"), cursor, PAGE_ROWS)
    asked = InputRequest.objects.filter(operation__in=found.rows, state=InputRequestState.OPEN)
    are_asked = set(asked.values_list("operation_id", flat=True))
    for operation in found.rows:
        # what the template asks of a row
        operation.is_asked = operation.pk in are_asked  # type: ignore[attr-defined]
    return found


def shown_operations(member: Member) -> QuerySet[Operation]:
    """The operations this member may know of, for looking one up."""
    related = ("server", "started_by", "token", "cancel_requested_by")
    found = in_team(member, Operation.objects.select_related(*related).defer(*_ENCRYPTED))
    return found.annotate(on_legal_hold=Exists(legal.over_operations()))


def payload_for(member: Member, operation: Operation) -> Payload | None:
    """What the operation carried; None when this member may not see it (or it was deleted)."""
    if not may_see_payload(member, operation):
        return None
    return Payload.objects.defer("request_state").filter(operation=operation).first()


def status_message_for(member: Member, operation: Operation) -> str:
    """What the server last said beside the status, for those who may see payloads; or empty."""
    if not may_see_payload(member, operation):
        return ""
    messages = Payload.objects.filter(operation=operation).values_list("status_message", flat=True)
    return str(messages.first() or "")


def questions(operation: Operation) -> list[InputRequest]:
    """What the server asked, newest first, with the approval (if there is one) and delivery."""
    queryset = InputRequest.objects.filter(operation=operation).defer("params", "key")
    related = queryset.select_related("approval", "delivery__answered_by")
    return list(related.prefetch_related("approval__people").order_by("-round", "-id"))


def gates(operation: Operation) -> list[Any]:
    """The items that ask whether the call may be made (approvals.Approval), the latest first: one
    before the first call, and one for each time that somebody wants it sent again.
    """
    asked = operation.approvals.filter(kind="gate")  # type: ignore[attr-defined]
    return list(asked.select_related("decided_by").order_by("-created_at", "-pk"))


def gate_waits_for(gates: Iterable[Any]) -> str:
    """Whom the open one of an operation's gates waits for; empty: none is open.

    Named people stand there by name, as far as they can still decide it, as on its own page.
    """
    return next((_waits_for(gate) for gate in gates if gate.state == "open"), "")


def _waits_for(gate: Any) -> str:
    audience = str(gate.get_audience_display())
    if gate.audience != "people":
        return audience
    voted = set(gate.votes.filter(version=gate.version).values_list("user_id", flat=True))
    names = [str(user) for user in deciders(gate).users if user.pk not in voted]
    more = " and others" if len(names) > MAX_NAMED else ""
    return ", ".join(names[:MAX_NAMED]) + more or audience


def servers(member: Member) -> QuerySet[Server]:
    """The team's servers with the number of tools and of operations that have not ended."""
    return (
        in_team(member, Server.objects.defer("credential", "discovery"))
        .annotate(
            tool_count=Count("tools", filter=Q(tools__problem=""), distinct=True),
            open_count=Coalesce(Subquery(_open_of_server()), 0),
        )
        .order_by("name")
    )


def _open_of_server() -> QuerySet[Any, Any]:
    """How many operations of a server have not ended; `finished_at` is what the index asks for."""
    mine = Operation.objects.filter(server=OuterRef("pk"), finished_at__isnull=True)
    return mine.order_by().values("server").annotate(number=Count("pk")).values("number")


def shown_servers(member: Member) -> QuerySet[Server]:
    """The servers this member may know of, for looking one up; what is encrypted stays behind."""
    return in_team(member, Server.objects.defer("credential", "discovery"))


def has_lost_credential(server: Server) -> bool:
    """Whether a credential is stored that no key opens (any more)."""
    try:
        Server.objects.values_list("credential", flat=True).get(pk=server.pk)
    except InvalidToken:
        return True
    return False


@dataclass(frozen=True, slots=True)
class Found:
    """What the last test of a server found; `is_lost`: no key opens it (any more)."""

    discovery: dict[str, Any]
    tools: list["ToolView"]
    is_lost: bool = False


def found_at(server: Server, search: str) -> Found:
    """What the last test of this server found, of its tools those that match."""
    try:
        discovery = server.discovery
        return Found(discovery if isinstance(discovery, dict) else {}, tools(server, search))
    except InvalidToken:
        return Found({}, [], is_lost=True)


@dataclass(frozen=True, slots=True)
class HeldBack:
    """How much a hold keeps from being sent."""

    calls: int
    answers: int
    cancellations: int

    @property
    def anything(self) -> bool:
        return bool(self.calls or self.answers or self.cancellations)


def held_back(hold: Hold) -> HeldBack:
    """What would leave if the hold ended now; another hold over a server may still keep some."""
    servers = Server.objects.filter(team_id=hold.team_id)
    if hold.server_id is not None:
        servers = servers.filter(pk=hold.server_id)
    # `finished_at` is what the index of what is open asks for
    mine = Operation.objects.filter(server__in=servers, finished_at__isnull=True)
    answers = Delivery.objects.filter(
        state=DeliveryState.SAVED,
        input_request__source=InputRequestSource.TASK,
        input_request__operation__in=mine,
    )
    asked = mine.filter(cancel_requested_at__isnull=False, cancel_sent_at__isnull=True)
    return HeldBack(
        calls=mine.filter(state=State.READY).count(),
        answers=answers.count(),
        cancellations=asked.filter(finished_at__isnull=True).exclude(task_hash="").count(),
    )


def tools(server: Server, search: str = "") -> list["ToolView"]:
    """The server's tools by name; `search` looks into name, title and description."""
    wanted = search.strip().lower()
    views = [ToolView.of(tool) for tool in server.tools.all()]
    return [view for view in views if wanted in view.searched] if wanted else views


@dataclass(frozen=True, slots=True)
class ToolView:
    """A tool as pages show it. Every text but `problem` is the server's own claim."""

    name: str
    title: str
    description: str
    claims: tuple[str, ...]
    input_schema: Any
    problem: str

    @classmethod
    def of(cls, tool: Tool) -> "ToolView":
        definition = tool.definition if isinstance(tool.definition, dict) else {}
        annotations = definition.get("annotations")
        annotations = annotations if isinstance(annotations, dict) else {}
        return cls(
            name=tool.name,
            title=_text(definition.get("title")) or _text(annotations.get("title")),
            description=_text(definition.get("description")),
            claims=tuple(_claims(annotations)),
            input_schema=definition.get("inputSchema", {}),
            problem=tool.problem,
        )

    @property
    def searched(self) -> str:
        return f"{self.name}\n{self.title}\n{self.description}".lower()


_CLAIMS = {
    ("readOnlyHint", True): "only reads",
    ("readOnlyHint", False): "may write",
    ("destructiveHint", True): "may destroy",
    ("destructiveHint", False): "destroys nothing",
    ("idempotentHint", True): "repeating changes nothing more",
    ("openWorldHint", True): "reaches other systems",
    ("openWorldHint", False): "stays within the server",
}


def _claims(annotations: dict[str, Any]) -> Iterable[str]:
    for (hint, value), words in _CLAIMS.items():
        if annotations.get(hint) is value:
            yield words


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""

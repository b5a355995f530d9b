"""What the inbox shows: its lists, the badge, one item, its timeline.

The badge and the list "For me" are one queryset, so that they never disagree.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db.models import (
    BooleanField,
    Count,
    Exists,
    Expression,
    ExpressionWrapper,
    OuterRef,
    Q,
    QuerySet,
    Value,
)
from django.db.models.functions import Coalesce, Length
from django.utils import timezone

from approvals import named
from approvals.filters import Chosen, Filters, Tab
from approvals.models import Approval, ApprovalState, Draft, Vote
from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member, Permission
from mcpdesk.accounts.models import User
from mcpdesk.audit.models import Event
from tasks_monitor.models import Hold, InputRequest, InputRequestState, Payload, Server

#: Beside an item that is open the list is made anew for each: more rows are more to wait for.
PAGE_ROWS = 30
TIMELINE_EVENTS = 100


#: Left out of items: each value costs a decryption, and no page of an item shows one.
_UNSHOWN = (
    "operation__task_id",
    "operation__server__credential",
    "operation__server__discovery",
    *(
        f"operation__payload__{carried}"
        for carried in ("request_state", "status_message", "result", "error", "notes")
    ),
    "input_request__key",
)
#: Read for one item when it is asked who they are: each of them as a join, planning the query took
#: PostgreSQL longer than all else.
_MOSTLY_NOBODY = (
    *("decided_by", "claimed_by", "proposed_by"),
    *("operation__cancel_requested_by", "operation__token"),
)
#: What a row shows. Any other column would be asked for row by row.
_ROW = (
    *("team", "kind", "shape", "audience", "state", "version", "policy", "four_eyes"),
    *("created_at", "deadline_at", "closed_at", "claimed_until"),
    *("decision", "decided_by", "claimed_by", "proposed_by"),
    *("operation__team", "operation__server", "operation__started_by", "operation__again_by"),
    *("operation__tool_name", "operation__reason", "operation__expires_at"),
    *("operation__created_at", "operation__token"),
    *("input_request__problem", "input_request__round", "input_request__params"),
)


@dataclass(frozen=True, slots=True)
class Counts:
    """How many open items wait for a member, and how many of theirs they have put aside."""

    waiting: int
    aside: int


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list; `after` continues it (empty: it ends here)."""

    rows: list[Approval] = field(default_factory=list)
    after: str = ""


def waiting_for(member: Member, now: datetime) -> QuerySet[Approval]:
    """Open items this member can decide and has not put aside: the list and the badge."""
    return _mine(member).exclude(_aside(member, now))


def badge_count(member: Member) -> int:
    """How many items wait for this member now."""
    return waiting_for(member, timezone.now()).count()


def counts(member: Member, now: datetime) -> Counts:
    """What the badge counts, and what this member said "Not now" to; in one query."""
    aside = Count("pk", filter=Q(_aside(member, now)))
    found = _mine(member).aggregate(mine=Count("pk"), aside=aside)
    return Counts(found["mine"] - found["aside"], found["aside"])


def page(
    member: Member,
    chosen: Chosen,
    now: datetime,
    servers: Iterable[Server] = (),
    people: Iterable[User] = (),
) -> Page:
    """A page of a list: open items oldest first, closed ones newest first.

    `servers` and `people` were read before: they are not read again for the rows that name them.
    """
    newest_first = chosen.tab is Tab.DECIDED
    queryset = chosen.filters.apply(_tab(member, chosen.tab, now), member, now)
    ordered = _after(_for_rows(queryset, member, chosen.tab), chosen.after, newest_first)
    found = list(ordered[: PAGE_ROWS + 1])
    rows = named.fill(found[:PAGE_ROWS], servers, people)
    return Page(rows, _cursor(rows[-1], newest_first) if len(found) > PAGE_ROWS else "")


def first_waiting(
    member: Member, filters: Filters, now: datetime, *, instead_of: Approval
) -> Approval | None:
    """The item that opens after this one is decided: the next that fits, else the first."""
    waiting = filters.apply(waiting_for(member, now), member, now)
    others = waiting.exclude(pk=instead_of.pk).order_by("created_at", "pk")
    return _after(others, _cursor(instead_of, False), False).first() or others.first()


def picked(member: Member, approval_ids: Iterable[UUID]) -> list[Approval]:
    """Those of the items that are in this member's team, oldest first, with all that is shown."""
    items = access.in_team(member, Approval.objects.filter(pk__in=list(approval_ids)))
    found = _whole(items).prefetch_related(*_MOSTLY_NOBODY)
    return [_tied(one) for one in found.order_by("created_at", "pk")]


def decidable_among(member: Member, approval_ids: Iterable[UUID]) -> set[UUID]:
    """Which of these items wait for this member, put aside or not."""
    found = _mine(member).filter(pk__in=list(approval_ids))
    return set(found.values_list("pk", flat=True))


def short_arguments(approvals: Iterable[Approval], most_bytes: int) -> dict[UUID, Any]:
    """The arguments of these items' calls by operation, where they are stored in so few bytes."""
    payloads = Payload.objects.filter(operation__in=[one.operation_id for one in approvals])
    small = payloads.alias(size=Coalesce(Length("arguments"), 0)).filter(size__lte=most_bytes)
    return dict(small.values_list("operation_id", "arguments"))


def starters(member: Member) -> list[User]:
    """The people a list can be narrowed to, by name: everybody of the team."""
    people = User.objects.filter(memberships__team=member.team_id)
    return list(people.only("name", "email").order_by("name", "pk"))


def last_decided(member: Member) -> Approval | None:
    """The last thing this member decided, for the page that says nothing waits."""
    decided = access.in_team(member, Approval.objects.filter(decided_by=member.user_id))
    return decided.select_related("operation__server").order_by("-decided_at").first()


def find(memberships: Sequence[Member], approval_id: UUID) -> tuple[Member, Approval] | None:
    """The item and the membership it is seen through, in whichever of a person's teams it is."""
    items = access.in_teams(memberships, Approval.objects.filter(pk=approval_id))
    approval = _whole(items).first()
    if approval is None:
        return None
    return next(m for m in memberships if m.team_id == approval.team_id), _tied(approval)


def find_in_team(member: Member, approval_id: UUID) -> Approval | None:
    """The item with everything that its page shows, if it is one of the member's team."""
    found = find([member], approval_id)
    return found[1] if found else None


def _whole(queryset: QuerySet[Approval]) -> QuerySet[Approval]:
    """With everything that the page of an item shows, but for those who are _MOSTLY_NOBODY."""
    joined = ("operation__server", "operation__payload", "operation__started_by")
    return queryset.select_related(*joined, "input_request__delivery").defer(*_UNSHOWN)


def _tied(approval: Approval) -> Approval:
    """A question and its item belong to one operation, which is read once."""
    if approval.input_request is not None:
        approval.input_request.operation = approval.operation
    return approval


def timeline(approval: Approval) -> list[Event]:
    """The operation's events that concern this item, newest first."""
    about_other = Q(data__has_key="question") & ~Q(data__question=approval.input_request_id)
    here = Q(approval_id=approval.pk) | Q(approval_id__isnull=True)
    events = Event.objects.filter(here, operation_id=approval.operation_id).exclude(about_other)
    return list(events.order_by("-id")[:TIMELINE_EVENTS])


def unanswered_beside(request: InputRequest) -> int:
    """Open questions of the same round: an MRTR round goes out once each has its answer."""
    return (
        InputRequest.objects.filter(
            operation=request.operation_id,
            source=request.source,
            round=request.round,
            state=InputRequestState.OPEN,
        )
        .exclude(pk=request.pk)
        .count()
    )


def replacement_of(approval: Approval) -> Approval | None:
    """The item of the question that replaced this one, if it is there already."""
    old = approval.input_request
    if old is None:
        return None
    newer = Approval.objects.filter(
        operation=approval.operation_id,
        input_request__source=old.source,
        input_request__round=old.round,
        input_request__key_hash=old.key_hash,
        input_request__revision__gt=old.revision,
    )
    return newer.order_by("input_request__revision").first()


def servers(member: Member) -> QuerySet[Server]:
    """The servers a list can be narrowed to."""
    return access.in_team(member, Server.objects.only("name")).order_by("name")


def _mine(member: Member) -> QuerySet[Approval]:
    if not member.may(Permission.DECIDE):
        return Approval.objects.none()
    said = Vote.objects.filter(
        approval=OuterRef("pk"), version=OuterRef("version"), user=member.user_id
    )
    waiting = Approval.objects.filter(access.put_to(member), state=ApprovalState.OPEN)
    return waiting.exclude(Exists(said))


def _aside(member: Member, now: datetime) -> Exists:
    return Exists(
        Draft.objects.filter(approval=OuterRef("pk"), user=member.user_id, snoozed_until__gt=now)
    )


def _tab(member: Member, tab: Tab, now: datetime) -> QuerySet[Approval]:
    if tab is Tab.MINE:
        return waiting_for(member, now)
    if tab is Tab.ASIDE:
        return _mine(member).filter(_aside(member, now))
    team = access.in_team(member, Approval.objects.all())
    if tab is Tab.TEAM:
        return team.filter(state=ApprovalState.OPEN)
    return team.exclude(state=ApprovalState.OPEN)


def _for_rows(queryset: QuerySet[Approval], member: Member, tab: Tab) -> QuerySet[Any]:
    """With what a row shows, in so many queries whatever the rows."""
    found = queryset.select_related("operation", "input_request").only(*_ROW)
    if tab is Tab.DECIDED:
        found = found.prefetch_related("input_request__delivery")
    return found.annotate(
        payload_seen=_payload_seen(member, tab),
        on_hold=_on_hold(),
        acts_for=access.acting_for_rows(member),
    )


def _payload_seen(member: Member, tab: Tab) -> Expression:
    """Whether the member may read the item; what is put to them they may, so it is not asked."""
    if tab in (Tab.MINE, Tab.ASIDE):
        return Value(True)
    seen = access.payload_seen(member, Approval.objects.all())
    return ExpressionWrapper(seen, output_field=BooleanField())


def _on_hold() -> Exists:
    """Whether nothing is sent to the server now, and deadlines of ours stand still."""
    here = Q(server__isnull=True) | Q(server=OuterRef("operation__server"))
    return Exists(Hold.objects.filter(here, team=OuterRef("team"), ended_at__isnull=True))


def _after(queryset: QuerySet[Approval], cursor: str, newest_first: bool) -> QuerySet[Approval]:
    """In the list's order, from behind the row that the cursor names."""
    column, sign, step = ("closed_at", "-", "lt") if newest_first else ("created_at", "", "gt")
    ordered = queryset.order_by(f"{sign}{column}", f"{sign}pk")
    place = _place(cursor)
    if place is None:
        return ordered
    at, pk = place
    return ordered.filter(Q(**{f"{column}__{step}": at}) | Q(**{column: at, f"pk__{step}": pk}))


def _cursor(approval: Approval, newest_first: bool) -> str:
    at = approval.closed_at if newest_first else approval.created_at
    return f"{at.astimezone(UTC).isoformat()}_{approval.pk}" if at else ""


def is_cursor(cursor: str) -> bool:
    """Whether it is one that page() gave."""
    return _place(cursor) is not None


def _place(cursor: str) -> tuple[datetime, UUID] | None:
    """Where a cursor of ours points; None for an empty one and for anything else."""
    at, _, pk = cursor.partition("_")
    try:
        moment = datetime.fromisoformat(at)
        return (moment, UUID(pk)) if moment.tzinfo else None
    except ValueError:
        return None

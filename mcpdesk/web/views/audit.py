"""Pages of the log: what happened, how far it is sealed and verified, and the proof as files."""

from collections.abc import AsyncIterator, Iterator
from datetime import datetime

from asgiref.sync import sync_to_async
from django.contrib import messages
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from approvals.selectors import servers
from mcpdesk import keyset
from mcpdesk.accounts.access import Member, Permission, still_may
from mcpdesk.accounts.guard import MemberRequest, member_required
from mcpdesk.audit import anchors, reading, selectors, signing
from mcpdesk.audit.event_filters import NOBODY
from mcpdesk.audit.kinds import labels
from mcpdesk.audit.lines import seals_of
from mcpdesk.audit.models import Channel, Seal
from tasks_monitor.engine.doorbell import ring_task
from tasks_monitor.event_filters import LogFilters, events
from tasks_monitor.states import State

EVENTS_A_PAGE = 50
SEALS_A_PAGE = 50
_MAX_DIGITS = 9
SEAL = "mcpdesk.audit.tasks.seal"


@require_safe
@member_required(Permission.READ_HISTORY)
def log(request: MemberRequest) -> HttpResponse:
    """The team's events, newest first."""
    filters = LogFilters.read(request.GET.dict())
    reading.note_reading(request.member, timezone.now())
    found = events(request.member, filters)
    cursor = request.GET.get("at", "")
    context = {
        "page": keyset.page(found, selectors.NEWEST_FIRST, cursor, EVENTS_A_PAGE),
        "filters": filters,
        "left_out": filters.left_out(request.GET.dict()),
        "state": selectors.state(request.member.team_id),
        **_choices(request),
    }
    return render(request, "audit/log.html", context)


@require_safe
@member_required(Permission.READ_HISTORY)
def state(request: MemberRequest) -> HttpResponse:
    """The part of both pages that says how far the log is sealed and verified."""
    return render(request, "audit/state.html", {"state": selectors.state(request.member.team_id)})


@require_safe
@member_required(Permission.READ_HISTORY)
def seals(request: MemberRequest) -> HttpResponse:
    """The team's seals, the latest first, with the keys that verify them."""
    rows, older = _seal_page(request.member.team_id, request.GET.get("before", ""))
    signer = signing.signer().key_id
    keys = [(key_id, signing.text_of(key)) for key_id, key in signing.public_keys().items()]
    context = {
        "seals": rows,
        "older": older,
        "state": selectors.state(request.member.team_id),
        "keys": [(key_id, text, key_id == signer) for key_id, text in keys],
    }
    return render(request, "audit/seals.html", context)


@require_POST
@member_required(Permission.READ_HISTORY)
def verify(request: MemberRequest) -> HttpResponse:
    """Begin at the beginning of the log now; the pages show how far that has come."""
    reading.verify_now(request.member, timezone.now())
    ring_task(SEAL)
    messages.success(request, "The log is being verified from its beginning.")
    return redirect("audit_seals")


@require_POST
@member_required(Permission.READ_HISTORY)
def seals_file(request: MemberRequest) -> StreamingHttpResponse:
    """Every seal and the public keys: an anchor to keep elsewhere."""
    now = timezone.now()
    reading.note_file(request.member, "the seals", now)
    team = request.member.team
    parts = anchors.exported_seals(team, now)
    return _file(request.member, parts, f"{team.slug}-seals", now)


@require_POST
@member_required(Permission.READ_HISTORY)
def events_file(request: MemberRequest) -> StreamingHttpResponse:
    """Every event with what its hash is made of, for verifying without the desk."""
    now = timezone.now()
    reading.note_file(request.member, "all events with what verifies them", now)
    team = request.member.team
    parts = anchors.exported_events(team, now)
    return _file(request.member, parts, f"{team.slug}-events", now)


def _choices(request: MemberRequest) -> dict[str, object]:
    """What the filters can be set to."""
    return {
        "people": selectors.people(request.member.team_id),
        "nobody": NOBODY,
        "kinds": labels(),
        "servers": [(str(server.pk), server.name) for server in servers(request.member)],
        "channels": Channel.choices,
        "states": State.choices,
    }


def _seal_page(team_id: int, before: str) -> tuple[list[Seal], int | None]:
    """Seals before the one with that number, and the number to go on before."""
    found = seals_of(team_id).defer("lines").order_by("-number")
    if before.isascii() and before.isdecimal() and len(before) <= _MAX_DIGITS:
        found = found.filter(number__lt=int(before))
    rows = list(found[: SEALS_A_PAGE + 1])
    shown = rows[:SEALS_A_PAGE]
    return shown, shown[-1].number if len(rows) > SEALS_A_PAGE else None


def _file(
    member: Member, parts: Iterator[bytes], name: str, now: datetime
) -> StreamingHttpResponse:
    streamed = _one_by_one(member, parts)
    response = StreamingHttpResponse(streamed, content_type="application/x-ndjson")
    file_name = f"{name}-{now:%Y%m%dT%H%M%SZ}.ndjson"
    response["Content-Disposition"] = f'attachment; filename="{file_name}"'
    return response


async def _one_by_one(member: Member, parts: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Each part is read from the database once the one before it was taken, and only for somebody
    who may still read it: whoever lost the role in the middle gets a file that breaks off.
    """

    def following() -> bytes | None:
        if not still_may(member, Permission.READ_HISTORY):
            raise PermissionError("This person may not read the log any more.")
        return next(parts, None)

    read = sync_to_async(following)
    while (part := await read()) is not None:
        yield part

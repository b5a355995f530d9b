"""The pages of the inbox. Every form works as a plain post; htmx swaps the same partials in."""

from dataclasses import asdict
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe
from django_htmx.http import push_url, trigger_client_event

from approvals import drafts, forms, gate_item, item, outcomes, question, selectors
from approvals import snooze as snoozing
from approvals.decide import decide as decide_item
from approvals.item import Attempt
from approvals.models import Approval, Choice, Kind, Shape
from approvals.question import Question
from approvals.selectors import Filters, Tab
from approvals.verdict import MAX_REASON_CHARS, decide_gate
from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member, Permission
from mcpdesk.accounts.guard import MemberRequest, member_required, require
from mcpdesk.accounts.sessions import TEAM_KEY
from mcpdesk.audit.log import Actor
from tasks_monitor.engine import errors as engine_errors
from tasks_monitor.engine.cancel import request_cancel

INBOX = "approvals/inbox.html"
DETAIL = "inbox-detail"
LIST = "inbox-list"


@require_safe
@member_required()
def inbox(request: MemberRequest) -> HttpResponse:
    """The list, with its first item beside it where there is room."""
    if request.htmx.target == LIST:
        return render(request, "approvals/list.html", _list(request))
    listed = _list(request)
    rows = listed["page"].rows
    opened = selectors.find(request.memberships, rows[0].pk) if rows else None
    shown = _context(*opened) if opened else {"item": None}
    if request.htmx.target == DETAIL:
        return _detail(request, {**listed, **shown})
    return render(request, INBOX, {**listed, **shown, "item_chosen": False})


@require_safe
@member_required()
def inbox_item(request: MemberRequest, approval_id: UUID) -> HttpResponse:
    """One item, in whichever of the person's teams it is."""
    member, approval = _door(request, approval_id)
    if request.htmx.target == DETAIL:
        return _detail(request, _context(member, approval))
    if member.team_id != request.member.team_id:
        _switch_team(request, member)
    return _page(request, _context(member, approval))


@require_safe
@member_required()
def inbox_item_live(request: MemberRequest, approval_id: UUID) -> HttpResponse:
    """The parts of an item's page that change by themselves; never its form."""
    member, approval = _door(request, approval_id)
    now, events = timezone.now(), selectors.timeline(approval)
    if approval.kind == Kind.GATE:
        context = {"item": gate_item.of(member, approval, now), "events": events}
        return render(request, "approvals/gate_live.html", context)
    shown = item.of(member, approval, now, live_parts_only=True)
    return render(request, "approvals/live.html", {"item": shown, "events": events})


@require_POST
@member_required()
def decide(request: MemberRequest, approval_id: UUID) -> HttpResponse:
    """Answer a question or decide a gate; a page that says why not whenever nothing was done."""
    member, approval = _door(request, approval_id)
    if approval.kind == Kind.GATE:
        return _decide_gate(request, member, approval)
    asked = _asked(member, approval)
    said = forms.said(request.POST, asked)
    if said is None:
        return _not_done(request, approval_id, asked, outcomes.Refused("Choose what to answer."))
    outcome = decide_item(approval_id, member=member, said=said, now=timezone.now())
    if isinstance(outcome, outcomes.Missing):
        raise Http404
    if isinstance(outcome, outcomes.Decided):
        return _decided(request, member, outcome)
    return _not_done(request, approval_id, asked, outcome)


def _decide_gate(request: MemberRequest, member: Member, approval: Approval) -> HttpResponse:
    word = forms.word(request.POST)
    if word is None:
        return _gate_not_done(request, approval.pk, "Choose whether it may run.")
    outcome = decide_gate(approval.pk, member=member, word=word, now=timezone.now())
    if isinstance(outcome, outcomes.Missing):
        raise Http404
    if not isinstance(outcome, outcomes.Voted):
        refused = isinstance(outcome, outcomes.Refused)
        return _gate_not_done(request, approval.pk, outcome.sentence, 422 if refused else 409)
    said, tool = outcomes.SAID[outcome.verdict], approval.operation.tool_name
    messages.success(request, f"You {said} “{tool}”. {gate_item.came_to(outcome.came_to)}")
    return _go_on(request, member, approval)


def _gate_not_done(
    request: MemberRequest, approval_id: UUID, sentence: str, status: int = 422
) -> HttpResponse:
    """The gate as it is now, with why nothing was decided and with the reason that was typed."""
    member, approval = _door(request, approval_id)
    attempt = gate_item.Attempt(sentence, request.POST.get("reason", "")[:MAX_REASON_CHARS])
    shown = gate_item.of(member, approval, timezone.now(), attempt)
    context = {"item": shown, "events": selectors.timeline(approval)}
    if request.htmx.target == DETAIL:
        return _detail(request, context)
    return _page(request, context, status=status)


@require_POST
@member_required()
def snooze(request: MemberRequest, approval_id: UUID) -> HttpResponse:
    """Put the item aside ("Not now"), or back again with `until=now`; what was typed is kept."""
    member, approval = _door(request, approval_id)
    _keep(request, member, approval, _asked(member, approval))
    verb = snoozing.wake if request.POST.get("until") == "now" else snoozing.snooze
    outcome = verb(approval_id, member=member, now=timezone.now())
    if isinstance(outcome, outcomes.Missing):
        raise Http404
    if not isinstance(outcome, snoozing.Snoozed):
        messages.warning(request, outcome.sentence)
        return redirect("inbox_item", approval_id)
    if outcome.until is None:
        return redirect("inbox_item", approval_id)
    messages.info(request, "Put aside for you. Nothing was sent, and others still see it.")
    return _go_on(request, member, approval)


@require_POST
@member_required()
def draft(request: MemberRequest, approval_id: UUID) -> HttpResponse:
    """Keep what is being typed; says in words whether it was kept."""
    member, approval = _door(request, approval_id)
    kept = _keep(request, member, approval, _asked(member, approval))
    if not request.htmx:
        return redirect("inbox_item", approval_id)
    return render(request, "approvals/draft.html", {"kept": kept, "saved_at": timezone.now()})


@require_POST
@member_required()
def cancel_operation(request: MemberRequest, approval_id: UUID) -> HttpResponse:
    """Ask for the whole operation to be cancelled, where its question can have no answer."""
    member, approval = _door(request, approval_id)
    require(member, Permission.OPERATE)
    try:
        request_cancel(approval.operation_id, actor=Actor.person(member), now=timezone.now())
    except engine_errors.Refused as refused:
        messages.error(request, refused.sentence)
    else:
        messages.success(request, "Cancellation of the operation was asked for.")
    return redirect("inbox_item", approval_id)


def _door(request: MemberRequest, approval_id: UUID) -> tuple[Member, Approval]:
    """The one way to an item: it exists for the members of its team, and for nobody else."""
    found = selectors.find(request.memberships, approval_id)
    if found is None:
        raise Http404
    return found


def _switch_team(request: MemberRequest, member: Member) -> None:
    """A link to another team's item opens that team, so that the whole page speaks of it."""
    request.session[TEAM_KEY] = member.team_id
    request.member = member
    messages.info(request, f"You are now looking at {member.team}, the team of this item.")


def _asked(member: Member, approval: Approval) -> Question:
    """The question, or one without fields for those who may not read it."""
    may_read = access.may_see_payload(member, approval.operation)
    if approval.input_request is None or not may_read:
        return Question(Shape.UNOFFERED)
    return question.read(approval.input_request)


def _keep(request: MemberRequest, member: Member, approval: Approval, asked: Question) -> bool:
    if approval.kind == Kind.GATE or not access.may_decide(member, approval):
        return False
    typed = forms.submitted(request.POST, asked)
    return drafts.save(approval, asked, user=member.user, submitted=typed, now=timezone.now())


def _decided(request: MemberRequest, member: Member, outcome: outcomes.Decided) -> HttpResponse:
    """On to the next item; an agreed link stays, since it is to be opened from here."""
    approval = outcome.approval
    messages.success(request, _done(outcome))
    if approval.shape == Shape.LINK and outcome.choice == Choice.ACCEPT:
        return redirect("inbox_item", approval.pk)
    return _go_on(request, member, approval)


def _done(outcome: outcomes.Decided) -> str:
    """What was decided, and what becomes of the answer; nothing is called sent before it is."""
    approval = outcome.approval
    sentence = f"You {outcomes.SAID[outcome.choice]} “{approval.operation.tool_name}”."
    missing = item.waits_for_others(approval)
    if not missing:
        return f"{sentence} The answer is saved and on its way."
    others = "another question of this round has its answer"
    if missing > 1:
        others = f"{missing} other questions of this round have their answers"
    return f"{sentence} The answer is saved. It goes out once {others}."


def _go_on(request: MemberRequest, member: Member, done: Approval) -> HttpResponse:
    """To the next item that waits, or to the page that says nothing does."""
    following = selectors.first_waiting(member, timezone.now(), instead_of=done)
    return redirect("inbox_item", following.pk) if following else redirect("inbox")


def _not_done(
    request: MemberRequest,
    approval_id: UUID,
    asked: Question,
    outcome: outcomes.AlreadyAnswered | outcomes.Lost | outcomes.Ended | outcomes.Refused,
) -> HttpResponse:
    """The item as it is now, with why nothing was sent and with what was typed."""
    member, approval = _door(request, approval_id)
    typed = forms.submitted(request.POST, asked)
    _keep(request, member, approval, asked)
    errors = outcome.errors if isinstance(outcome, outcomes.Refused) else {}
    context = _context(member, approval, Attempt(outcome.sentence, typed, errors))
    if request.htmx.target == DETAIL:
        return _detail(request, context)
    refused = isinstance(outcome, outcomes.Refused)
    return _page(request, context, status=422 if refused else 409)


def _context(member: Member, approval: Approval, attempt: Attempt | None = None) -> dict[str, Any]:
    shown: item.Item | gate_item.GateItem
    if approval.kind == Kind.GATE:
        shown = gate_item.of(member, approval, timezone.now())
    else:
        shown = item.of(member, approval, timezone.now(), attempt)
    return {"item": shown, "events": selectors.timeline(approval)}


def _page(request: MemberRequest, context: dict[str, Any], status: int = 200) -> HttpResponse:
    """An item's page: the item, and the list beside it where there is room."""
    everything = {**_list(request), **context, "item_chosen": True}
    return render(request, INBOX, everything, status=status)


def _detail(request: MemberRequest, context: dict[str, Any]) -> HttpResponse:
    """The item alone, for the column of a page that is open; its address goes along."""
    response = render(request, "approvals/detail.html", context)
    if request.method == "GET" and _page_around(request) != request.get_full_path():
        push_url(response, request.get_full_path())
    return trigger_client_event(response, "inbox-changed")


def _page_around(request: MemberRequest) -> str | None:
    """The address of the page that asks for a part, as htmx says it; None where that is none."""
    try:
        return request.htmx.current_url_abs_path
    except ValueError:
        return None


def _list(request: MemberRequest) -> dict[str, Any]:
    member, now = request.member, timezone.now()
    tab = Tab(request.GET["tab"]) if request.GET.get("tab") in list(Tab) else Tab.MINE
    filters = Filters(*(request.GET.get(name, "")[:256] for name in ("server", "tool", "shape")))
    listed = selectors.page(member, tab, filters, request.GET.get("after", ""), now)
    return {
        "tab": tab,
        "decides": member.may(Permission.DECIDE),
        "tabs": [(Tab.MINE, "For me"), (Tab.TEAM, "Team"), (Tab.DECIDED, "Decided")],
        "filters": filters,
        "page": listed,
        "aside": selectors.aside_count(member, now),
        "last_decided": None if listed.rows else selectors.last_decided(member),
        "servers": selectors.servers(member),
        "shapes": Shape.choices,
        "query": _query(tab, filters, request.GET.get("after", "")),
        "more": _query(tab, filters, listed.after) if listed.after else "",
    }


def _query(tab: Tab, filters: Filters, after: str) -> str:
    """The part of an address that says which list is shown."""
    named = {"tab": tab, "after": after, **asdict(filters)}
    return urlencode({name: value for name, value in named.items() if value})

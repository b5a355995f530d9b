"""What a person posts about an item: an answer, a word on a gate, "Not now", a draft."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST

from approvals import binding, deliveries, drafts, forms, gate_item, outcomes, remembered
from approvals import snooze as snoozing
from approvals.decide import decide as decide_item
from approvals.item import Attempt
from approvals.listing import go_on
from approvals.models import Approval, Choice, Kind, Shape, Verdict
from approvals.question import Question
from approvals.remembered_form import RememberForm
from approvals.verdict import MAX_REASON_CHARS, decide_gate
from approvals.views.doors import DETAIL, asked_of, context_of, detail, door, page, story_of
from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member, Permission
from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.guard import MemberRequest, member_required, require
from mcpdesk.audit.log import Actor
from tasks_monitor.engine import errors as engine_errors
from tasks_monitor.engine.cancel import request_cancel


@require_POST
@member_required()
def decide(request: MemberRequest, approval_id: UUID) -> HttpResponse:
    """Answer a question or decide a gate; a page that says why not whenever nothing was done."""
    member, approval = door(request, approval_id)
    if approval.kind == Kind.GATE:
        return _decide_gate(request, member, approval)
    asked = asked_of(member, approval)
    said = forms.said(request.POST, asked)
    if said is None:
        return _not_done(request, approval_id, asked, outcomes.Refused("Choose what to answer."))
    outcome = decide_item(approval_id, member=member, said=said, now=timezone.now())
    if isinstance(outcome, outcomes.Missing):
        raise Http404
    if isinstance(outcome, outcomes.Decided):
        return _decided(request, member, outcome)
    if isinstance(outcome, outcomes.Counted):
        messages.success(request, outcome.sentence)
        return go_on(request, member, outcome.approval)
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
    came_to = gate_item.came_to(outcome.approval, outcome.came_to)
    messages.success(request, f"You {said} “{tool}”. {came_to}")
    if outcome.verdict == Verdict.APPROVE and request.POST.get("remember") == "on":
        _remember(request, member, approval)
    return go_on(request, member, approval)


def _remember(request: MemberRequest, member: Member, approval: Approval) -> None:
    """Have the approval count for later calls too; what is refused leaves it as it was."""
    form = RememberForm(request.POST)
    if not form.is_valid():
        messages.warning(request, "It is not remembered: choose for which calls, and how long.")
        return
    scope = form.scope()
    try:
        remembered.remember(approval.pk, member=member, scope=scope, now=timezone.now())
    except Refused as refused:
        messages.warning(request, f"It is not remembered: {refused.sentence}")
    else:
        messages.success(request, "It is remembered; see Policies, Remembered.")


def _gate_not_done(
    request: MemberRequest, approval_id: UUID, sentence: str, status: int = 422
) -> HttpResponse:
    """The gate as it is now, with why nothing was decided and with the reason that was typed."""
    member, approval = door(request, approval_id)
    _keep(request, member, approval, asked_of(member, approval))
    attempt = gate_item.Attempt(
        sentence,
        _typed_reason(request),
        forms.opened(request.POST),
        usual_reason=request.POST.get("usual_reason", ""),
        remembers=request.POST.get("remember") == "on",
    )
    shown = gate_item.of(member, approval, timezone.now(), attempt)
    context = {"item": shown, **story_of(shown)}
    if request.htmx.target == DETAIL:
        return detail(request, context)
    return page(request, context, status=status)


@require_POST
@member_required()
def snooze(request: MemberRequest, approval_id: UUID) -> HttpResponse:
    """Put the item aside ("Not now"), or back again with `until=now`; what was typed is kept."""
    member, approval = door(request, approval_id)
    _keep(request, member, approval, asked_of(member, approval))
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
    return go_on(request, member, approval)


@require_POST
@member_required()
def draft(request: MemberRequest, approval_id: UUID) -> HttpResponse:
    """Keep what is being typed; says in words whether it was kept."""
    member, approval = door(request, approval_id)
    kept = _keep(request, member, approval, asked_of(member, approval))
    if not request.htmx:
        return redirect("inbox_item", approval_id)
    return render(request, "approvals/draft.html", {"kept": kept, "saved_at": timezone.now()})


@require_POST
@member_required()
def cancel_operation(request: MemberRequest, approval_id: UUID) -> HttpResponse:
    """Ask for the whole operation to be cancelled, where its question can have no answer."""
    member, approval = door(request, approval_id)
    require(member, Permission.OPERATE)
    try:
        request_cancel(approval.operation_id, actor=Actor.person(member), now=timezone.now())
    except engine_errors.Refused as refused:
        messages.error(request, refused.sentence)
    else:
        messages.success(request, "Cancellation of the operation was asked for.")
    return redirect("inbox_item", approval_id)


def _keep(request: MemberRequest, member: Member, approval: Approval, asked: Question) -> bool:
    if not access.may_decide(member, approval):
        return False
    shown_at = binding.shown_at(request.POST.get("binding", ""))
    whose: dict[str, Any] = {"user": member.user, "shown_at": shown_at, "now": timezone.now()}
    if approval.kind == Kind.GATE:
        usual = request.POST.get("usual_reason", "")
        return drafts.save_reason(
            approval, reason=_typed_reason(request), usual_reason=usual, **whose
        )
    typed = forms.submitted(request.POST, asked)
    return drafts.save(approval, asked, submitted=typed, **whose)


def _typed_reason(request: MemberRequest) -> str:
    return request.POST.get("reason", "")[:MAX_REASON_CHARS]


def _decided(request: MemberRequest, member: Member, outcome: outcomes.Decided) -> HttpResponse:
    """On to the next item; an agreed link stays, since it is to be opened from here."""
    approval = outcome.approval
    messages.success(request, _done(outcome))
    if approval.shape == Shape.LINK and outcome.choice == Choice.ACCEPT:
        return redirect("inbox_item", approval.pk)
    beside = _answered_from(request, member)
    if beside is not None:
        return redirect("inbox_item", beside)
    return go_on(request, member, approval)


def _answered_from(request: MemberRequest, member: Member) -> UUID | None:
    """The item on whose page this question was answered, beside it; None: on its own page."""
    try:
        shown_on = UUID(request.POST.get("from", ""))
    except ValueError:
        return None
    there = access.in_team(member, Approval.objects.filter(pk=shown_on))
    return shown_on if there.exists() else None


def _done(outcome: outcomes.Decided) -> str:
    """What was decided, and what becomes of the answer; nothing is called sent before it is."""
    approval = outcome.approval
    sentence = f"You {outcomes.SAID[outcome.choice]} “{approval.operation.tool_name}”."
    missing = deliveries.waits_for_others(approval)
    if not missing:
        return f"{sentence} The answer is saved and on its way."
    others = "another question of this round has its answer"
    if missing > 1:
        others = f"{missing} other questions of this round have their answers"
    return f"{sentence} The answer is saved. It goes out once {others}."


def _not_done(
    request: MemberRequest,
    approval_id: UUID,
    asked: Question,
    outcome: outcomes.AlreadyAnswered | outcomes.Lost | outcomes.Ended | outcomes.Refused,
) -> HttpResponse:
    """The item as it is now, with why nothing was sent and with what was typed."""
    member, approval = door(request, approval_id)
    typed = forms.submitted(request.POST, asked)
    _keep(request, member, approval, asked)
    errors = outcome.errors if isinstance(outcome, outcomes.Refused) else {}
    context = context_of(
        member, approval, Attempt(outcome.sentence, typed, errors, forms.opened(request.POST))
    )
    if request.htmx.target == DETAIL:
        return detail(request, context)
    refused = isinstance(outcome, outcomes.Refused)
    return page(request, context, status=422 if refused else 409)

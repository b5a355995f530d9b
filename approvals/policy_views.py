"""The pages of a team's policy: everybody in the team reads it, admins change it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from approvals import policies as verbs
from approvals import policy
from approvals.foresight import Foreseen, foresee
from approvals.models import PolicyRule, Remembered
from approvals.policy_forms import RuleForm, TryForm, initial_of, names_of
from mcpdesk.accounts import access
from mcpdesk.accounts import errors as account_errors
from mcpdesk.accounts.access import Member, Permission
from mcpdesk.accounts.guard import MemberRequest, member_required
from mcpdesk.audit.admins import Who
from mcpdesk.audit.models import Event
from tasks_monitor.engine.errors import Refused
from tasks_monitor.models import Server

_PAGE = "approvals/policies.html"
_FORM = "approvals/policy_form.html"
SHOWN_EVENTS = 8
EVENTS_A_PAGE = 50
_STEPS = {"up": -1, "down": 1}
GONE = "The form does not say which version it was made for. Nothing was changed."


@dataclass(frozen=True, slots=True)
class Line:
    """One rule of the list, in words. `problem`: why it cannot be read; then it asks."""

    rule: PolicyRule
    said: policy.Sentences | None = None
    problem: str = ""


@require_safe
@member_required()
def policies(request: MemberRequest) -> HttpResponse:
    """The rules in order, a call to try them on, and who changed what."""
    myself = {"starter": str(request.member.user_id), "arguments": "{}"}
    return _list(request, TryForm(member=request.member, initial=myself))


@require_POST
@member_required()
def try_out(request: MemberRequest) -> HttpResponse:
    """What the policy would say of a call; nothing is written."""
    form = TryForm(request.POST, member=request.member)
    if not form.is_valid():
        return _list(request, form, status=422)
    try:
        found = _foresee(request, form)
    except Refused as refused:
        form.add_error("arguments", refused.sentence)
        return _list(request, form, status=422)
    return _list(request, form, found=found)


@require_http_methods(["GET", "POST"])
@member_required(Permission.ADMINISTER)
def add(request: MemberRequest) -> HttpResponse:
    """A new rule, behind all others."""
    form = RuleForm(request.POST or None, team=request.member.team)
    return _edit(request, form, None, lambda raw: verbs.add_rule(raw, who=_who(request)))


@require_http_methods(["GET", "POST"])
@member_required(Permission.ADMINISTER)
def change(request: MemberRequest, pk: int) -> HttpResponse:
    """What a rule says; its place and whether it is on are changed on the list."""
    rule = _find(request, pk)
    form = RuleForm(request.POST or None, team=request.member.team, initial=initial_of(rule))

    def save(raw: dict[str, Any]) -> PolicyRule:
        version = form.cleaned_data["version"]
        return verbs.change_rule(pk, raw, version=version, who=_who(request))

    return _edit(request, form, rule, save)


@require_POST
@member_required(Permission.ADMINISTER)
def move(request: MemberRequest, pk: int) -> HttpResponse:
    """One place up or down, or to a place that is named; with htmx the list alone comes back."""
    rule = _find(request, pk)
    place = _place(request.POST.get("to", ""), rule)
    seen = request.POST.get("edition", "")
    try:
        moved = verbs.move_rule(pk, place, seen=seen, who=_who(request))
    except account_errors.Refused as refused:
        return _after_move(request, rule, refused.sentence, done=False)
    count = verbs.rules_of(request.member.team_id).count()
    return _after_move(request, moved, f"“{moved.name}” is rule {moved.position} of {count} now.")


@require_POST
@member_required(Permission.ADMINISTER)
def switch(request: MemberRequest, pk: int) -> HttpResponse:
    """On or off."""
    on, who = request.POST.get("to") == "on", _who(request)

    def switched(version: int) -> object:
        return verbs.set_enabled(pk, on, version=version, who=who)

    return _carry_out(request, pk, switched)


@require_http_methods(["GET", "POST"])
@member_required(Permission.ADMINISTER)
def delete(request: MemberRequest, pk: int) -> HttpResponse:
    """Asks first, then removes a rule."""
    rule, who = _find(request, pk), _who(request)
    if request.method == "POST":

        def removed(version: int) -> object:
            return verbs.delete_rule(pk, version=version, who=who)

        return _carry_out(request, pk, removed)
    line = _line(rule, names_of(request.member.team))
    return render(request, "approvals/policy_delete.html", {"line": line})


@require_safe
@member_required(Permission.READ_HISTORY)
def history(request: MemberRequest) -> HttpResponse:
    """Who changed what when, and which rules failed on which calls: all of it, the latest first."""
    page = Paginator(_events(request), EVENTS_A_PAGE).get_page(request.GET.get("page"))
    return render(request, "approvals/policy_history.html", {"page": page})


def _list(
    request: MemberRequest, form: TryForm, status: int = 200, found: Foreseen | None = None
) -> HttpResponse:
    reads_history = request.member.may(Permission.READ_HISTORY)
    context = {
        **_rules(request),
        "form": form,
        "found": found,
        "reads_history": reads_history,
        "events": _events(request)[:SHOWN_EVENTS] if reads_history else (),
    }
    return render(request, _PAGE, context, status=status)


def _rules(request: MemberRequest) -> dict[str, Any]:
    """What the list of rules shows."""
    team = request.member.team
    names = names_of(team)
    return {
        "lines": [_line(rule, names) for rule in verbs.rules_of(team.pk)],
        "otherwise": policy.explain(policy.gate([], policy.Request("", "", {}, None))),
        "edition": verbs.edition(team.pk),
        "may_change": request.member.may(Permission.ADMINISTER),
    }


def _events(request: MemberRequest) -> QuerySet[Event]:
    told = Q(kind__startswith="policy.") | Q(kind="gate.rule_failed")
    return Event.objects.filter(told, team=request.member.team).order_by("-id")


def _line(rule: PolicyRule, names: dict[int, str]) -> Line:
    try:
        return Line(rule, policy.in_words(policy.read_rule(rule.as_rule()), names))
    except policy.BadRule as bad:
        return Line(rule, problem=bad.sentence)


def _edit(
    request: MemberRequest,
    form: RuleForm,
    rule: PolicyRule | None,
    save: Callable[[dict[str, Any]], PolicyRule],
) -> HttpResponse:
    """The form; after a preview what it would say; saved, the list."""
    context: dict[str, Any] = {"form": form, "rule": rule}
    if rule is not None:
        context["edition"] = verbs.edition(rule.team_id)
        context["count"] = verbs.rules_of(rule.team_id).count()
    if not form.is_bound:
        return render(request, _FORM, context)
    if not form.is_valid():
        return render(request, _FORM, context, status=422)
    try:
        if "preview" in request.POST:
            names = names_of(request.member.team)
            context["said"] = policy.in_words(policy.read_rule(form.raw()), names)
            return render(request, _FORM, context)
        save(form.raw())
    except (policy.BadRule, account_errors.Refused) as refused:
        form.add_error(None, refused.sentence)
        return render(request, _FORM, context, status=422)
    messages.success(request, "Saved. It counts for every call from now on.")
    return redirect("policies")


def _foresee(request: MemberRequest, form: TryForm) -> Foreseen:
    """What would become of a call of somebody of this team, or of a service."""
    call, (user, token) = form.cleaned_data, form.started_by()
    server = Server.objects.get(team=request.member.team, name=call["server"])
    found = foresee(server, call["tool"], call["arguments"], user, timezone.now(), token)
    return found if found.by is None or _may_hear_of(request.member, found.by) else found.asked


def _may_hear_of(member: Member, one: Remembered) -> bool:
    """Whether the arguments that were approved are no news: who tries many could guess them."""
    if not one.arguments_digest:
        return True
    return one.approval is not None and access.may_see_payload(member, one.approval.operation)


def _find(request: MemberRequest, pk: int) -> PolicyRule:
    rule = access.in_team(request.member, PolicyRule.objects.all()).filter(pk=pk).first()
    if rule is None:
        raise Http404("no such rule in this team")
    return rule


def _place(to: str, rule: PolicyRule) -> int:
    """The place that a form names: up, down, or a number; what is none of these changes nothing."""
    if to in _STEPS:
        return rule.position + _STEPS[to]
    return int(to) if to.isascii() and to.isdigit() and len(to) < 6 else rule.position


def _who(request: MemberRequest) -> Who:
    return Who(request.member, timezone.now())


def _after_move(
    request: MemberRequest, rule: PolicyRule, sentence: str, *, done: bool = True
) -> HttpResponse:
    """The list, at the rule that was moved."""
    if request.htmx:
        context = {**_rules(request), "said": sentence, "done": done}
        return render(request, f"{_PAGE}#rules", context)
    (messages.success if done else messages.error)(request, sentence)
    return redirect(f"{reverse('policies')}#rule-{rule.pk}")


def _carry_out(request: MemberRequest, pk: int, verb: Callable[[int], object]) -> HttpResponse:
    """A verb on the version of the rule that the form was made for."""
    _find(request, pk)
    version = request.POST.get("version", "")
    if not (version.isascii() and version.isdigit() and len(version) < 10):
        messages.error(request, GONE)
        return redirect("policies")
    try:
        verb(int(version))
    except account_errors.Refused as refused:
        messages.error(request, refused.sentence)
    return redirect("policies")

"""The pages of a team's policy: everybody in the team reads it, admins change it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.db.models import Q
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from approvals import policies as verbs
from approvals import policy
from approvals.gate import annotations_of
from approvals.models import PolicyRule
from approvals.policy_forms import RuleForm, TryForm, initial_of, names_of
from mcpdesk.accounts import access
from mcpdesk.accounts.access import Permission
from mcpdesk.accounts.guard import MemberRequest, member_required
from mcpdesk.accounts.models import User
from mcpdesk.audit.models import Event
from tasks_monitor.models import Server

_PAGE = "approvals/policies.html"
_FORM = "approvals/policy_form.html"
SHOWN_EVENTS = 50


@dataclass(frozen=True, slots=True)
class Line:
    """One rule of the list, in words. `problem`: why it cannot be read; then it asks."""

    rule: PolicyRule
    when: str = ""
    then: str = ""
    problem: str = ""


@require_safe
@member_required()
def policies(request: MemberRequest) -> HttpResponse:
    """The rules in order, a call to try them on, and who changed what."""
    myself = {"starter": str(request.member.user_id), "arguments": "{}"}
    return _list(request, TryForm(team=request.member.team, initial=myself))


@require_POST
@member_required()
def try_out(request: MemberRequest) -> HttpResponse:
    """What the policy would say of a call; nothing is written."""
    form = TryForm(request.POST, team=request.member.team)
    if not form.is_valid():
        return _list(request, form, status=422)
    return _list(request, form, found=_gate(request, form.cleaned_data))


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
    form = RuleForm(request.POST or None, team=request.member.team, initial=_initial(rule))

    def save(raw: dict[str, Any]) -> PolicyRule:
        version = form.cleaned_data["version"]
        return verbs.change_rule(pk, raw, version=version, who=_who(request))

    return _edit(request, form, rule, save)


@require_POST
@member_required(Permission.ADMINISTER)
def move(request: MemberRequest, pk: int) -> HttpResponse:
    """One place up or down."""
    up = request.POST.get("to") == "up"
    return _carry_out(request, pk, lambda: verbs.move_rule(pk, up, who=_who(request)))


@require_POST
@member_required(Permission.ADMINISTER)
def switch(request: MemberRequest, pk: int) -> HttpResponse:
    """On or off."""
    on = request.POST.get("to") == "on"
    return _carry_out(request, pk, lambda: verbs.set_enabled(pk, on, who=_who(request)))


@require_http_methods(["GET", "POST"])
@member_required(Permission.ADMINISTER)
def delete(request: MemberRequest, pk: int) -> HttpResponse:
    """Asks first, then removes a rule."""
    rule = _find(request, pk)
    if request.method == "POST":
        return _carry_out(request, pk, lambda: verbs.delete_rule(pk, who=_who(request)))
    line = _line(rule, names_of(request.member.team))
    return render(request, "approvals/policy_delete.html", {"line": line})


def _list(
    request: MemberRequest, form: TryForm, status: int = 200, found: policy.Gate | None = None
) -> HttpResponse:
    team = request.member.team
    names = names_of(team)
    told = Q(kind__startswith="policy.") | Q(kind="gate.rule_failed")
    events = Event.objects.filter(told, team=team).order_by("-id")
    context = {
        "lines": [_line(rule, names) for rule in verbs.rules_of(team.pk)],
        "otherwise": policy.explain(policy.gate([], policy.Request("", "", {}, None))),
        "form": form,
        "would": policy.explain(found) if found else "",
        "error": found.error if found else "",
        "events": events[:SHOWN_EVENTS],
        "may_change": request.member.may(Permission.ADMINISTER),
    }
    return render(request, _PAGE, context, status=status)


def _line(rule: PolicyRule, names: dict[int, str]) -> Line:
    try:
        read = policy.read_rule(rule.as_rule())
    except policy.BadRule as bad:
        return Line(rule, problem=bad.sentence)
    return Line(rule, policy.describe(read, names), policy.consequence(read, names))


def _edit(
    request: MemberRequest,
    form: RuleForm,
    rule: PolicyRule | None,
    save: Callable[[dict[str, Any]], PolicyRule],
) -> HttpResponse:
    """The form; after a preview what it would say; saved, the list."""
    context: dict[str, Any] = {"form": form, "rule": rule}
    if not form.is_bound:
        return render(request, _FORM, context)
    if not form.is_valid():
        return render(request, _FORM, context, status=422)
    try:
        if "preview" in request.POST:
            return render(request, _FORM, {**context, **_preview(request, form)})
        save(form.raw())
    except (policy.BadRule, verbs.Refused) as refused:
        form.add_error(None, refused.sentence)
        return render(request, _FORM, context, status=422)
    messages.success(request, "Saved. It counts for every call from now on.")
    return redirect("policies")


def _preview(request: MemberRequest, form: RuleForm) -> dict[str, str]:
    read, names = policy.read_rule(form.raw()), names_of(request.member.team)
    return {"when": policy.describe(read, names), "then": policy.consequence(read, names)}


def _gate(request: MemberRequest, call: dict[str, Any]) -> policy.Gate:
    """The policy's word on a call that somebody of this team, or a service, might make."""
    team = request.member.team
    user = User.objects.filter(pk=int(call["starter"])).first() if call["starter"] else None
    member = access.member_in(user, team.pk) if user else None
    server = Server.objects.get(team=team, name=call["server"])
    asked = policy.Request(
        server=server.name,
        tool=call["tool"],
        arguments=call["arguments"],
        user_id=member.user_id if member else None,
        role=member.role if member else "",
        annotations=annotations_of(server, call["tool"]),
    )
    return policy.gate(verbs.active(team.pk), asked)


def _find(request: MemberRequest, pk: int) -> PolicyRule:
    rule = access.in_team(request.member, PolicyRule.objects.all()).filter(pk=pk).first()
    if rule is None:
        raise Http404("no such rule in this team")
    return rule


def _initial(rule: PolicyRule) -> dict[str, Any]:
    """A rule that cannot be read keeps its name; the rest is to be written again."""
    try:
        return initial_of(rule)
    except policy.BadRule:
        return {"name": rule.name, "version": rule.version}


def _who(request: MemberRequest) -> verbs.Who:
    return verbs.Who(request.member, timezone.now())


def _carry_out(request: MemberRequest, pk: int, verb: Callable[[], object]) -> HttpResponse:
    _find(request, pk)
    try:
        verb()
    except verbs.Refused as refused:
        messages.error(request, refused.sentence)
    return redirect("policies")

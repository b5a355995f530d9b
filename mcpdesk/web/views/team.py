"""The Team page: who is in it, and what an admin may change."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from mcpdesk.accounts.access import Permission
from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.guard import MemberRequest, member_required
from mcpdesk.accounts.models import Membership, Role
from mcpdesk.audit.log import Actor
from mcpdesk.web import members
from mcpdesk.web.forms import AddMemberForm, RoleForm


def _page(
    request: MemberRequest,
    form: AddMemberForm,
    status: int = 200,
    **shown_once: object,
) -> HttpResponse:
    people = Membership.objects.filter(team=request.member.team).select_related("user")
    context = {
        "people": people.order_by("-user__is_active", "user__name", "pk"),
        "form": form,
        "roles": Role.choices,
        **shown_once,
        "may_read_history": request.member.may(Permission.READ_HISTORY),
        "may_change": request.member.may(Permission.ADMINISTER),
    }
    return render(request, "web/team.html", context, status=status)


@require_safe
@member_required()
def team(request: MemberRequest) -> HttpResponse:
    """Everybody in the team, with their roles."""
    return _page(request, AddMemberForm())


@require_POST
@member_required(Permission.ADMINISTER)
def add(request: MemberRequest) -> HttpResponse:
    """Add a person. The answer is the page itself: a password made here is shown only once."""
    form = AddMemberForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=422)
    try:
        added = members.add_member(**form.values(), **_who_and_when(request))
    except Refused as refusal:
        form.add_error(None, refusal.sentence)
        return _page(request, form, status=422)
    return _page(request, AddMemberForm(), added=added)


@require_POST
@member_required(Permission.ADMINISTER)
def role(request: MemberRequest, pk: int) -> HttpResponse:
    """Give a member another role."""
    form = RoleForm(request.POST)
    if not form.is_valid():
        messages.error(request, "That is not a role.")
        return redirect("team")
    chosen = Role(form.cleaned_data["role"])

    return _carry_out(
        request,
        pk,
        partial(members.change_role, role=chosen),
        f"The role is now {chosen.label}.",
    )


@require_POST
@member_required(Permission.ADMINISTER)
def remove(request: MemberRequest, pk: int) -> HttpResponse:
    """Take a person out of the team."""
    return _carry_out(
        request,
        pk,
        members.remove_member,
        "Removed from the team. Open pages of theirs have stopped updating.",
    )


@require_POST
@member_required(Permission.ADMINISTER)
def deactivate(request: MemberRequest, pk: int) -> HttpResponse:
    """Close a person's account."""
    return _carry_out(
        request,
        pk,
        members.deactivate,
        "Deactivated: no sign-in any more. Their votes and answers keep the name.",
    )


@require_POST
@member_required(Permission.ADMINISTER)
def reactivate(request: MemberRequest, pk: int) -> HttpResponse:
    """Open a closed account again."""
    return _carry_out(
        request,
        pk,
        members.reactivate,
        "Active again, with the password and the roles from before.",
    )


@require_POST
@member_required(Permission.ADMINISTER)
def password(request: MemberRequest, pk: int) -> HttpResponse:
    """A new temporary password, shown once on the page that answers."""
    try:
        user, made = members.give_password(pk, **_who_and_when(request))
    except Membership.DoesNotExist:
        raise Http404 from None
    except Refused as refusal:
        messages.error(request, refusal.sentence)
        return redirect("team")
    return _page(request, AddMemberForm(), new_password=made, new_password_of=user)


def _who_and_when(request: MemberRequest) -> dict[str, Any]:
    return {
        "team_id": request.member.team_id,
        "actor": Actor.person(request.member),
        "now": datetime.now(UTC),
    }


def _carry_out(
    request: MemberRequest, pk: int, verb: Callable[..., object], done: str
) -> HttpResponse:
    """One verb, then the page again with what came of it."""
    try:
        verb(pk, **_who_and_when(request))
    except Membership.DoesNotExist:
        raise Http404 from None
    except Refused as refusal:
        messages.error(request, refusal.sentence)
    else:
        messages.success(request, done)
    return redirect("team")

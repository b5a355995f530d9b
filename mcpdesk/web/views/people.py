"""One person of the team as an admin sees them, and the end of all their sessions."""

from datetime import UTC, datetime
from typing import Any

from django.contrib import messages
from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from approvals.models import Vote
from mcpdesk.accounts.access import Permission
from mcpdesk.accounts.devices import devices_of
from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.guard import MemberRequest, member_required
from mcpdesk.accounts.models import AbsenceSpan, ApiToken, Membership, RoleSpan, Team, User
from mcpdesk.audit.log import Actor
from mcpdesk.web import members
from mcpdesk.web.views import tokens

#: Of each list, the latest so many.
_ROWS = 20


@require_safe
@member_required(Permission.ADMINISTER)
def show(request: MemberRequest, pk: int) -> HttpResponse:
    """Roles over time, the last sign-in, tokens, absences, what they decided. Also of who left."""
    person = _find(request, pk)
    return render(request, "web/person.html", _person(request.member.team, person))


@require_POST
@member_required(Permission.ADMINISTER)
def sign_out(request: MemberRequest, pk: int) -> HttpResponse:
    """End all sessions of a member."""
    person = _find(request, pk)
    membership = get_object_or_404(Membership, team=request.member.team, user=person)
    who = Actor.person(request.member)
    try:
        members.sign_out(
            membership.pk, team_id=membership.team_id, actor=who, now=datetime.now(UTC)
        )
    except Refused as refusal:
        messages.error(request, refusal.sentence)
    else:
        messages.success(request, f"{person} is signed out everywhere.")
    return redirect("person", pk)


@require_POST
@member_required()
def sign_out_oneself(request: MemberRequest) -> HttpResponse:
    """End all sessions of one's own; the next page asks to sign in."""
    actor = Actor.person(request.member)
    members.sign_out_oneself(request.member.user, actor=actor, now=datetime.now(UTC))
    return redirect("account_login")


def _find(request: MemberRequest, pk: int) -> User:
    """Somebody who is or was in the team."""
    here = Q(role_spans__team=request.member.team) | Q(memberships__team=request.member.team)
    return get_object_or_404(User.objects.filter(here).distinct(), pk=pk)


def _person(team: Team, person: User) -> dict[str, Any]:
    votes = Vote.objects.filter(user=person, approval__team=team)
    return {
        "person": person,
        "membership": Membership.objects.filter(team=team, user=person).first(),
        "spans": RoleSpan.objects.filter(team=team, user=person).order_by("-starts_at")[:_ROWS],
        "devices": devices_of(person, datetime.now(UTC)),
        "tokens": tokens.rows(ApiToken.objects.filter(team=team, user=person)),
        "absences": _absences(team, person),
        # what they said in words is read on the item
        "votes": votes.select_related("approval__server").defer("reason").order_by("-at")[:_ROWS],
    }


def _absences(team: Team, person: User) -> list[AbsenceSpan]:
    spans = AbsenceSpan.objects.filter(team=team, user=person).select_related("stand_in")
    return list(spans.order_by("-said_from")[:_ROWS])

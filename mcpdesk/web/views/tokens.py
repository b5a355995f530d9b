"""Pages of the keys to the API: one's own, and those of the team's services."""

from datetime import UTC, datetime
from typing import Any

from django.contrib import messages
from django.db.models import BooleanField, Exists, ExpressionWrapper, OuterRef, Q, QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from mcpdesk.accounts import access, tokens
from mcpdesk.accounts.access import Permission
from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.guard import MemberRequest, member_required
from mcpdesk.accounts.models import ApiToken, Membership
from mcpdesk.accounts.tokens import Scope
from mcpdesk.web.token_forms import ServiceForm, TokenForm
from mcpdesk.web.tokens import Made, make_own, make_service
from mcpdesk.web.tokens import revoke as revoke_token

#: Of the revoked ones so many are shown, the latest; of what can still be revoked all are.
_REVOKED_ROWS = 100


@require_http_methods(["GET", "POST"])
@member_required()
def mine(request: MemberRequest) -> HttpResponse:
    """One's own tokens, in every team. A new one is shown on the page that answers, only once."""
    form = TokenForm(request.POST or None, holder=request.member)
    if request.method != "POST":
        return _mine(request, form)
    if not form.is_valid():
        return _mine(request, form, status=422)
    try:
        made = make_own(request.member, now=datetime.now(UTC), **form.values())
    except Refused as refusal:
        form.add_error(None, refusal.sentence)
        return _mine(request, form, status=422)
    return _mine(request, TokenForm(holder=request.member), made=made)


@require_POST
@member_required()
def revoke_mine(request: MemberRequest, pk: int) -> HttpResponse:
    """End a token of one's own, whichever of one's teams it is for."""
    token = get_object_or_404(_own(request), pk=pk)
    revoke_token(token, member=request.member, now=datetime.now(UTC))
    messages.success(request, f"{token.name} is revoked.")
    return redirect("my_tokens")


@require_http_methods(["GET", "POST"])
@member_required(Permission.ADMINISTER)
def of_team(request: MemberRequest) -> HttpResponse:
    """The team's services, and the tokens of its people."""
    service = access.service_in(request.member.team, "a new service")
    form = ServiceForm(request.POST or None, holder=service)
    if request.method != "POST":
        return _of_team(request, form)
    if not form.is_valid():
        return _of_team(request, form, status=422)
    try:
        made = make_service(request.member, now=datetime.now(UTC), **form.values())
    except Refused as refusal:
        form.add_error(None, refusal.sentence)
        return _of_team(request, form, status=422)
    return _of_team(request, ServiceForm(holder=service), made=made)


@require_POST
@member_required(Permission.ADMINISTER)
def revoke_of_team(request: MemberRequest, pk: int) -> HttpResponse:
    """End any token of the team, a colleague's too."""
    token = get_object_or_404(ApiToken, pk=pk, team=request.member.team)
    revoke_token(token, member=request.member, now=datetime.now(UTC))
    messages.success(request, f"{token.name} is revoked.")
    return redirect("team_tokens")


def _own(request: MemberRequest) -> QuerySet[ApiToken]:
    return ApiToken.objects.filter(user=request.member.user_id)


def _mine(
    request: MemberRequest, form: TokenForm, made: Made | None = None, status: int = 200
) -> HttpResponse:
    context = {"form": form, "made": made, "rows": rows(_own(request))}
    return render(request, "web/my_tokens.html", context, status=status)


def _of_team(
    request: MemberRequest, form: ServiceForm, made: Made | None = None, status: int = 200
) -> HttpResponse:
    theirs = ApiToken.objects.filter(team=request.member.team)
    context = {
        "form": form,
        "made": made,
        "services": rows(theirs.filter(user__isnull=True)),
        "people": rows(theirs.filter(user__isnull=False)),
    }
    return render(request, "web/team_tokens.html", context, status=status)


def rows(queryset: QuerySet[ApiToken]) -> list[dict[str, Any]]:
    """Tokens with their state, those that open something first, however old they are."""
    now = datetime.now(UTC)
    revoked = queryset.filter(revoked_at__isnull=False).order_by("-created_at")
    latest = revoked.values("pk")[:_REVOKED_ROWS]
    member = Membership.objects.filter(
        team=OuterRef("team"), user=OuterRef("user"), user__is_active=True
    )
    in_team = ExpressionWrapper(Q(user__isnull=True) | Exists(member), BooleanField())
    shown = queryset.filter(Q(revoked_at__isnull=True) | Q(pk__in=latest))
    found = shown.select_related("team", "user", "created_by", "revoked_by").annotate(
        in_team=in_team
    )
    rows = [
        {
            "token": token,
            "state": tokens.state(token, now, token.in_team),
            "scopes": [Scope(scope).label for scope in token.scopes],
            "can_be_revoked": token.revoked_at is None,
        }
        for token in found.order_by("-created_at")
    ]
    return sorted(rows, key=lambda row: row["state"] is not tokens.State.ACTIVE)

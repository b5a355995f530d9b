"""The page that says who could decide what on a given day."""

from datetime import datetime, time
from typing import Any

from django import forms
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from approvals import who_could
from approvals.policy_forms import TryForm, services
from mcpdesk.accounts import tokens
from mcpdesk.accounts.access import Member, Permission
from mcpdesk.accounts.guard import MemberRequest, member_required
from mcpdesk.accounts.models import User


class WhoCouldForm(TryForm):
    """A call that nobody makes, and a moment in the zone of whoever asks."""

    day = forms.DateField(widget=forms.DateInput(attrs={"type": "date"}))
    time = forms.TimeField(widget=forms.TimeInput(attrs={"type": "time"}, format="%H:%M"))
    field_order = ("day", "time", "server", "tool", "starter", "arguments")

    def __init__(self, *args: Any, member: Member, **kwargs: Any) -> None:
        super().__init__(*args, member=member, **kwargs)
        people = (
            User.objects.filter(role_spans__team=member.team_id).distinct().order_by("name", "pk")
        )
        choices = [(str(one.pk), str(one)) for one in people]
        ever = services(tokens.of_services(member))
        self.fields["starter"].choices = [*choices, *ever]  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if "day" in cleaned and "time" in cleaned:
            cleaned["moment"] = _moment(cleaned["day"], cleaned["time"])
            if cleaned["moment"] > timezone.now():
                self.add_error("day", "That is still to come.")
        return cleaned


def _moment(day: Any, at: time) -> datetime:
    try:
        return timezone.make_aware(datetime.combine(day, at))
    except OverflowError:
        raise forms.ValidationError("There is no such day.") from None


@require_http_methods(["GET", "POST"])
@member_required(Permission.READ_HISTORY)
def show(request: MemberRequest) -> HttpResponse:
    """A form; its answer is the same page. Nothing is written, and no argument is in an address."""
    team = request.member.team
    now = timezone.localtime()
    myself = {"starter": str(request.member.user_id), "arguments": "{}"}
    at_once = {"day": now.date(), "time": now.time(), **myself}
    form = WhoCouldForm(request.POST or None, member=request.member, initial=at_once)
    if request.method != "POST":
        return render(request, "web/who_could.html", {"form": form})
    if not form.is_valid():
        return render(request, "web/who_could.html", {"form": form}, status=422)
    given = form.cleaned_data
    call = who_could.Call(given["server"], given["tool"], given["arguments"], *form.started_by())
    found = who_could.answer(team, call, given["moment"])
    context = {"form": form, "found": found, "moment": given["moment"], "call": call}
    return render(request, "web/who_could.html", context)

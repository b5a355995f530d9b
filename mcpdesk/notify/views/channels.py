"""The team's channels, and the messages that were given up: for admins."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from mcpdesk.accounts.access import Permission
from mcpdesk.accounts.adapter import sends_mail
from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.guard import MemberRequest, member_required
from mcpdesk.audit.admins import Who
from mcpdesk.notify import channels, outbox, selectors
from mcpdesk.notify.forms import ChannelForm
from mcpdesk.notify.media import webhook
from mcpdesk.notify.models import Channel, ChannelKind, Topic

_BEGINS_WITH = [Topic.ASKED, Topic.REMINDER, Topic.ESCALATION, Topic.ALERT]


@require_safe
@member_required(Permission.ADMINISTER)
def overview(request: MemberRequest) -> HttpResponse:
    """Every channel with how it goes, and what could not be sent."""
    team_id = request.member.team_id
    context = {
        "channels": selectors.channels(team_id),
        "kinds": ChannelKind.choices,
        "dead": selectors.dead_letters(team_id)[: selectors.SHOWN],
        "with_arguments": outbox.arguments_allowed(team_id),
        "mails": sends_mail(),
    }
    template = "notify/channels.html"
    return render(request, f"{template}#live" if request.htmx else template, context)


@require_http_methods(["GET", "POST"])
@member_required(Permission.ADMINISTER)
def new(request: MemberRequest, kind: str) -> HttpResponse:
    """Add a channel of one kind."""
    if kind not in ChannelKind.values:
        raise Http404
    chosen = ChannelKind(kind)
    form = ChannelForm(request.POST or None, kind=chosen, initial={"topics": _BEGINS_WITH})
    if request.method == "POST" and form.is_valid():
        try:
            made = channels.add(chosen, form.wanted(), who=_who(request))
        except Refused as refusal:
            form.add_error(None, refusal.sentence)
        else:
            return _with_secret(request, made)
    context = {"form": form, "title": f"Add a channel: {chosen.label}"}
    return render(
        request, "notify/channel_form.html", context, status=422 if form.is_bound else 200
    )


@require_http_methods(["GET", "POST"])
@member_required(Permission.ADMINISTER)
def channel(request: MemberRequest, pk: int) -> HttpResponse:
    """One channel: its settings, what may be done with it, its latest messages."""
    found = _find(request, pk)
    initial = {name: getattr(found, name) for name in ("name", "topics", "allow_private")}
    form = ChannelForm(
        request.POST or None, kind=ChannelKind(found.kind), stored=True, initial=initial
    )
    if request.method == "POST" and form.is_valid():
        try:
            channels.change(pk, form.wanted(), who=_who(request))
        except Refused as refusal:
            form.add_error(None, refusal.sentence)
        else:
            messages.success(request, "Saved.")
            return redirect("channel", pk)
    context = _about(found) | {"form": form}
    template = "notify/channel.html"
    where = f"{template}#live" if request.htmx else template
    return render(request, where, context, status=422 if form.is_bound else 200)


@require_POST
@member_required(Permission.ADMINISTER)
def switch(request: MemberRequest, pk: int) -> HttpResponse:
    """Switch a channel on or off."""
    to = request.POST.get("to") == "on"
    return _carry_out(request, pk, lambda who: channels.set_enabled(pk, to, who=who))


@require_POST
@member_required(Permission.ADMINISTER)
def rotate(request: MemberRequest, pk: int) -> HttpResponse:
    """A new secret, shown once on the page that answers."""
    _find(request, pk)
    try:
        rotated = channels.rotate(pk, who=_who(request))
    except Refused as refusal:
        messages.error(request, refusal.sentence)
        return redirect("channel", pk)
    return _with_secret(request, rotated)


@require_POST
@member_required(Permission.ADMINISTER)
def test(request: MemberRequest, pk: int) -> HttpResponse:
    """Send a test message."""
    said = "A test is on its way. Below you see what became of it."
    return _carry_out(request, pk, lambda who: channels.send_test(pk, who=who), said)


@require_http_methods(["GET", "POST"])
@member_required(Permission.ADMINISTER)
def delete(request: MemberRequest, pk: int) -> HttpResponse:
    """Ask, then delete."""
    found = _find(request, pk)
    if request.method != "POST":
        return render(request, "notify/channel_delete.html", {"channel": found})
    channels.remove(pk, who=_who(request))
    messages.success(request, "Deleted.")
    return redirect("channels")


@require_POST
@member_required(Permission.ADMINISTER)
def again(request: MemberRequest, message_id: UUID) -> HttpResponse:
    """Send a message again that was given up."""
    if not selectors.dead_letters(request.member.team_id).filter(pk=message_id).exists():
        raise Http404
    try:
        channels.send_again(message_id, who=_who(request))
    except Refused as refusal:
        messages.error(request, refusal.sentence)
    else:
        messages.success(request, "It is on its way again.")
    return redirect("channels")


@require_POST
@member_required(Permission.ADMINISTER)
def arguments(request: MemberRequest) -> HttpResponse:
    """Switch arguments in messages on or off."""
    try:
        channels.allow_arguments(request.POST.get("to") == "on", who=_who(request))
    except Refused as refusal:
        messages.error(request, refusal.sentence)
    return redirect("channels")


def _carry_out(
    request: MemberRequest, pk: int, verb: Callable[[Who], object], said: str = ""
) -> HttpResponse:
    """One verb on one channel, then its page again."""
    _find(request, pk)
    try:
        verb(_who(request))
    except Refused as refusal:
        messages.error(request, refusal.sentence)
    else:
        if said:
            messages.success(request, said)
    return redirect("channel", pk)


def _with_secret(request: MemberRequest, found: Channel) -> HttpResponse:
    """The channel's page with its secret, this once; what has none is just shown."""
    if found.kind != ChannelKind.WEBHOOK:
        messages.success(request, "Added. Send a test to see whether it arrives.")
        return redirect("channel", found.pk)
    initial = {"name": found.name, "topics": found.topics, "allow_private": found.allow_private}
    form = ChannelForm(kind=ChannelKind(found.kind), stored=True, initial=initial)
    context = _about(found) | {"form": form, "secret": found.secret["current"]}
    return render(request, "notify/channel.html", context)


def _about(found: Channel) -> dict[str, Any]:
    now = datetime.now(UTC)
    signs_twice = bool(found.secret) and len(webhook.in_force(found.secret, now)) > 1
    return {
        "channel": found,
        "deliveries": selectors.of_channel(found)[: selectors.SHOWN],
        "signs_twice": signs_twice,
    }


def _find(request: MemberRequest, pk: int) -> Channel:
    return get_object_or_404(Channel, team_id=request.member.team_id, pk=pk)


def _who(request: MemberRequest) -> Who:
    return Who(request.member, datetime.now(UTC))

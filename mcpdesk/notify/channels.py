"""The verbs of a team's channels, each one transaction with its event; admins of now alone."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.models import Team
from mcpdesk.audit.admins import Who, locked
from mcpdesk.audit.log import record
from mcpdesk.http.addresses import origin_of
from mcpdesk.notify import doorbell, outbox
from mcpdesk.notify.media import webhook
from mcpdesk.notify.models import (
    Channel,
    ChannelKind,
    Message,
    MessageState,
    TeamNotices,
    Topic,
)
from mcpdesk.notify.outbox import About, Notice

MAX_CHANNELS = 50


@dataclass(frozen=True, slots=True)
class Wanted:
    """A channel as somebody wants it: `url` or `addresses`; neither keeps what is stored."""

    name: str
    topics: Sequence[str]
    url: str = field(default="", repr=False)
    addresses: Sequence[str] = ()
    allow_private: bool = False

    @property
    def target(self) -> dict[str, Any] | None:
        if self.url:
            return {"url": self.url}
        return {"addresses": list(self.addresses)} if self.addresses else None

    @property
    def shown_as(self) -> str:
        """What may be shown of it: the address itself lets its holder write. Raises BadAddress."""
        if self.url:
            return str(origin_of(self.url))
        count = len(self.addresses)
        return f"{count} address{'es' if count != 1 else ''}"


@transaction.atomic(durable=True)
def add(kind: ChannelKind, wanted: Wanted, *, who: Who) -> Channel:
    """Add a channel; a webhook gets a secret, to be shown once. Raises Refused."""
    team = locked(who)
    if team.channels.count() >= MAX_CHANNELS:
        raise Refused(f"A team has at most {MAX_CHANNELS} channels.")
    _check_name(team, wanted.name, None)
    if wanted.target is None:
        raise Refused("Say where its messages go.")
    channel = Channel.objects.create(
        team=team,
        kind=kind,
        name=wanted.name,
        target=wanted.target,
        shown_as=wanted.shown_as,
        secret=webhook.rotated(None, who.now) if kind == ChannelKind.WEBHOOK else None,
        topics=list(wanted.topics),
        allow_private=wanted.allow_private,
        created_at=who.now,
    )
    _record("channel.added", channel, who, medium=channel.get_kind_display())
    return channel


@transaction.atomic(durable=True)
def change(channel_id: int, wanted: Wanted, *, who: Who) -> Channel:
    """Change what a channel wants, and its target where a new one is given. Raises Refused."""
    team = locked(who)
    channel = find(team, channel_id)
    _check_name(team, wanted.name, channel)
    values = {
        "name": wanted.name,
        "topics": list(wanted.topics),
        "allow_private": wanted.allow_private,
    }
    if wanted.target is not None:
        values |= {"target": wanted.target, "shown_as": wanted.shown_as}
    changed = [name for name, value in values.items() if getattr(channel, name) != value]
    for name in changed:
        setattr(channel, name, values[name])
    if changed:
        channel.save(update_fields=changed)
        _record("channel.changed", channel, who, fields=", ".join(changed))
    return channel


@transaction.atomic(durable=True)
def set_enabled(channel_id: int, enabled: bool, *, who: Who) -> Channel:
    """Switch a channel on or off; what waits for one that is off is dropped when it is due."""
    channel = find(locked(who), channel_id)
    if channel.enabled != enabled:
        channel.enabled, channel.off_because = enabled, ""
        channel.save(update_fields=["enabled", "off_because"])
        _record("channel.enabled" if enabled else "channel.disabled", channel, who)
    return channel


@transaction.atomic(durable=True)
def rotate(channel_id: int, *, who: Who) -> Channel:
    """A new secret for a webhook; both sign for a day. Raises Refused."""
    channel = find(locked(who), channel_id)
    if channel.kind != ChannelKind.WEBHOOK:
        raise Refused("Only signed webhooks have a secret.")
    channel.secret = webhook.rotated(channel.secret, who.now)
    channel.save(update_fields=["secret"])
    _record("channel.rotated", channel, who)
    return channel


@transaction.atomic(durable=True)
def remove(channel_id: int, *, who: Who) -> None:
    """Delete a channel and its messages; the log keeps what was sent. Raises Refused."""
    channel = find(locked(who), channel_id)
    _record("channel.removed", channel, who)
    channel.delete()


@transaction.atomic(durable=True)
def send_test(channel_id: int, *, who: Who) -> Channel:
    """Send a message that says it is a test, through the outbox like any other. Raises Refused."""
    channel = find(locked(who), channel_id)
    if not channel.enabled:
        raise Refused("The channel is switched off.")
    notice = Notice(
        topic=Topic.ALERT,
        event="desk.test",
        subject="A test message from mcpdesk",
        sentence=f"{who.member.user} sent this to see whether it arrives. Nothing is to be done.",
        path="/inbox/",
        step=who.now.isoformat(),
    )
    about = About(channel.team_id, f"test:{channel.pk}")
    outbox.tell_channel(about, notice, channel, now=who.now)
    doorbell.ring_on_commit()
    return channel


@transaction.atomic(durable=True)
def send_again(message_id: Any, *, who: Who) -> Message:
    """Give a message that was given up another round of attempts. Raises Refused."""
    team = locked(who)
    message = (
        Message.objects.select_for_update(of=("self",))
        .filter(team=team, pk=message_id, state=MessageState.DEAD)
        .select_related("user", "channel")
        .first()
    )
    if message is None:
        raise Refused("There is no such message among those that were given up.")
    message.state, message.attempts = MessageState.WAITING, 0
    message.next_at, message.finished_at = who.now, None
    message.save(update_fields=["state", "attempts", "next_at", "finished_at"])
    record(
        "notice.sent_again",
        team_id=team.pk,
        actor=who.actor,
        now=who.now,
        operation_id=message.operation_id,
        approval_id=message.approval_id,
        to=message.user or str(message.channel),
        medium=message.get_medium_display(),
    )
    doorbell.ring_on_commit()
    return message


@transaction.atomic(durable=True)
def allow_arguments(allowed: bool, *, who: Who) -> None:
    """Let arguments of calls into the team's messages, or keep them out again. Raises Refused."""
    team = locked(who)
    notices, _ = TeamNotices.objects.get_or_create(team=team)
    if notices.with_arguments == allowed:
        return
    notices.with_arguments = allowed
    notices.save(update_fields=["with_arguments"])
    to = "on" if allowed else "off"
    record("notices.arguments", team_id=team.pk, actor=who.actor, now=who.now, to=to)


def find(team: Team, channel_id: int) -> Channel:
    """A channel of the team. Raises Channel.DoesNotExist."""
    return team.channels.get(pk=channel_id)


def _check_name(team: Team, name: str, channel: Channel | None) -> None:
    others = team.channels.filter(name=name)
    if (others.exclude(pk=channel.pk) if channel else others).exists():
        raise Refused("Another channel of this team has that name.")


def _record(kind: str, channel: Channel, who: Who, **data: Any) -> None:
    record(
        kind,
        team_id=channel.team_id,
        actor=who.actor,
        now=who.now,
        channel=channel.name,
        **data,
    )

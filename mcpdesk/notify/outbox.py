"""The outbox: what people are told is written with the change it is about, and sent later.

Every function is called in the transaction of that change. Nothing here talks to a network. A
message waits a moment before it leaves, and is dropped if its matter closes meanwhile.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db.models import Prefetch, Q, QuerySet

from mcpdesk.accounts.adapter import sends_mail
from mcpdesk.accounts.models import User
from mcpdesk.accounts.zones import zone_of
from mcpdesk.notify import quiet
from mcpdesk.notify.models import (
    TO_SEND,
    Channel,
    Medium,
    Message,
    MessageState,
    Preference,
    PushSubscription,
    TeamNotices,
    Timing,
    Topic,
)
from mcpdesk.notify.plain import one_line

#: What an event ends with that says what came of a matter.
ENDED: Final = ".closed"
#: Who decides at once needs no message, and neither do the others.
WAIT: Final = timedelta(seconds=15)
MAX_ARGUMENTS_CHARS: Final = 2000


@dataclass(frozen=True, slots=True)
class About:
    """The matter that messages belong to: closing it drops them."""

    team_id: int
    matter: str
    approval_id: UUID | None = None
    operation_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Notice:
    """What is to be said, in our own words; what others named is quoted, or stands in `facts`.

    `event` is what a webhook is told happened. `path` leads to the page. `arguments` (JSON text)
    leave the desk only where the team allows it. `data` goes to webhooks alone. `step` tells two of
    one event apart: the same event, step and recipient of a matter are never told twice.
    """

    topic: Topic
    event: str
    subject: str
    sentence: str
    path: str
    facts: tuple[tuple[str, str], ...] = ()
    arguments: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    step: str = ""

    def as_json(self) -> dict[str, Any]:
        """What a message keeps of it, each piece on one line."""
        return {
            "subject": one_line(self.subject, 120),
            "sentence": one_line(self.sentence, 300),
            "path": self.path,
            "facts": [[one_line(label), one_line(value)] for label, value in self.facts],
            "arguments": _cut(self.arguments),
            "data": dict(self.data),
        }


def _cut(arguments: str) -> str:
    """Never silently: whoever reads the beginning has to know that there is more."""
    if len(arguments) <= MAX_ARGUMENTS_CHARS:
        return arguments
    return f"{arguments[:MAX_ARGUMENTS_CHARS]}… (cut here: the page has all of it)"


def tell(
    about: About,
    notice: Notice,
    *,
    to: Collection[int],
    now: datetime,
    channels: bool = True,
    wait: timedelta = WAIT,
) -> None:
    """Tell these people (ids of users), and the team's channels that want this topic.

    Whoever does not want the topic, or cannot be reached, is left out. `now` is aware UTC; a
    message leaves `wait` later, if its matter is not over by then.
    """
    notice = _allowed(about.team_id, notice)
    ready = now + wait
    found = list(_to_people(about, notice, to, now, ready))
    if channels:
        found += _to_channels(about, notice, now, ready)
    Message.objects.bulk_create(found, ignore_conflicts=True)


def is_wanted(team_id: int, topic: Topic, to: Collection[int]) -> bool:
    """Whether a channel of the team, or one of these people, asked for what is told on request."""
    channels = Channel.objects.filter(team_id=team_id, enabled=True, topics__contains=[topic.value])
    if not to:
        return channels.exists()
    people = Preference.objects.filter(user_id__in=to, topics__contains=[topic.value])
    found = channels.values("pk").union(people.values("pk"))
    return bool(found[:1])


def tell_channel(about: About, notice: Notice, channel: Channel, *, now: datetime) -> None:
    """Tell one channel, whatever topics it wants, and at once: somebody waits for it."""
    _channel_message(about, notice, channel, at=now, now=now).save(force_insert=True)


def drop(about: About, *, now: datetime, topics: Iterable[Topic] = Topic) -> None:
    """Nothing more leaves about this matter; what is on its way is not tried a second time."""
    mine = _of(about).filter(topic__in=list(topics)).exclude(event__endswith=ENDED)
    _change(
        mine.filter(state__in=TO_SEND),
        state=MessageState.DROPPED,
        last_error="It was over before this left.",
        next_at=None,
        finished_at=now,
    )
    _change(mine.filter(state=MessageState.SENDING), unwanted=True)


def follow_up(about: About, notice: Notice, *, now: datetime) -> None:
    """Say what came of it wherever something was sent that can still be changed or added to.

    Browsers replace what they show, webhooks get an event, chats a line; a mail stays as it is.
    """
    reached = Q(state__in=[MessageState.SENT, MessageState.SENDING])
    # a webhook may have taken what looked like a failure from here
    reached |= Q(medium=Medium.WEBHOOK, attempts__gt=0)
    told = _of(about).filter(reached).exclude(medium=Medium.EMAIL).exclude(event=notice.event)
    latest = {message.target: message for message in told.select_related("user").order_by("pk")}
    followed = [_after(message, about, notice, now) for message in latest.values()]
    Message.objects.bulk_create(followed, ignore_conflicts=True)


def _after(message: Message, about: About, notice: Notice, now: datetime) -> Message:
    """What follows one message, and never overtakes it."""
    at = max(now, message.leased_until or now)
    if message.user is not None:
        at = quiet.at_once(_wishes(message.user), zone_of(message.user), at)
    return _message(
        about,
        notice,
        medium=message.medium,
        target=message.target,
        at=at,
        created_at=now,
        topic=message.topic,
        user_id=message.user_id,
        channel_id=message.channel_id,
        subscription_id=message.subscription_id,
    )


def _of(about: About) -> QuerySet[Message]:
    return Message.objects.filter(team_id=about.team_id, matter=about.matter)


def _change(messages: QuerySet[Message], **values: Any) -> None:
    """Locked in one order: senders of a digest change rows of several matters at once."""
    locked = messages.order_by("pk").select_for_update(of=("self",))
    ids = list(locked.values_list("pk", flat=True))
    messages.filter(pk__in=ids).update(**values)


def _allowed(team_id: int, notice: Notice) -> Notice:
    """Without the arguments, unless the team wants them in messages."""
    if not notice.arguments or arguments_allowed(team_id):
        return notice
    return replace(notice, arguments="")


def arguments_allowed(team_id: int) -> bool:
    """Whether the team has switched on that arguments of calls leave the desk in messages."""
    return TeamNotices.objects.filter(team_id=team_id, with_arguments=True).exists()


def _to_people(
    about: About, notice: Notice, to: Collection[int], now: datetime, ready: datetime
) -> Iterator[Message]:
    in_use = PushSubscription.objects.filter(off_at__isnull=True)
    people = User.objects.filter(pk__in=to, is_active=True).select_related("notices")
    for user in people.prefetch_related(Prefetch("push_subscriptions", in_use)):
        wishes = _wishes(user)
        if notice.topic in wishes.topics:
            yield from _to_person(about, notice, user, wishes, now, ready)


def _to_person(
    about: About,
    notice: Notice,
    user: User,
    wishes: Preference,
    now: datetime,
    ready: datetime,
) -> Iterator[Message]:
    zone = zone_of(user)
    digest = wishes.timing != Timing.AT_ONCE
    if wishes.email and sends_mail():
        at = (quiet.in_digest if digest else quiet.at_once)(wishes, zone, ready)
        yield _message(
            about,
            notice,
            medium=Medium.EMAIL,
            target=f"u{user.pk}",
            at=at,
            created_at=now,
            user_id=user.pk,
            digest=digest,
        )
    for subscription in user.push_subscriptions.all() if wishes.push else []:
        yield _message(
            about,
            notice,
            medium=Medium.PUSH,
            target=f"p{subscription.pk}",
            at=quiet.at_once(wishes, zone, ready),
            created_at=now,
            user_id=user.pk,
            subscription_id=subscription.pk,
        )


def _to_channels(about: About, notice: Notice, now: datetime, ready: datetime) -> list[Message]:
    wanting = Channel.objects.filter(
        team_id=about.team_id, enabled=True, topics__contains=[notice.topic.value]
    )
    return [
        _channel_message(about, notice, channel, at=ready, now=now)
        for channel in wanting
        if channel.kind != Medium.EMAIL or sends_mail()
    ]


def _channel_message(
    about: About, notice: Notice, channel: Channel, *, at: datetime, now: datetime
) -> Message:
    return _message(
        about,
        notice,
        medium=Medium(channel.kind),
        target=f"c{channel.pk}",
        at=at,
        created_at=now,
        channel_id=channel.pk,
    )


def _message(about: About, notice: Notice, *, target: str, at: datetime, **values: Any) -> Message:
    values.setdefault("topic", notice.topic)
    return Message(
        team_id=about.team_id,
        matter=about.matter,
        approval_id=about.approval_id,
        operation_id=about.operation_id,
        event=notice.event,
        once="|".join((about.matter, notice.event, notice.step, target, values["medium"])),
        content=notice.as_json(),
        target=target,
        next_at=at,
        **values,
    )


def _wishes(user: User) -> Preference:
    """What the person asked for, or what holds for those who never said."""
    return getattr(user, "notices", None) or Preference(user=user)

"""Reading the outbox: what became of messages, for items, channels and the admins' lists."""

from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count, Q, QuerySet

from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member
from mcpdesk.notify.models import TO_SEND, Alert, Channel, Message, MessageState

#: How many messages a list of the admins shows.
SHOWN = 50
#: How many of them the page of an item shows.
SHOWN_OF_ITEM = 20


@dataclass(frozen=True, slots=True)
class Told:
    """The latest messages about an item, and how many there are. `whole`: to whomever, not to this
    member alone.
    """

    latest: list[Message]
    count: int
    whole: bool


def of_approval(member: Member, approval_id: UUID) -> Told:
    """What this member sees of the messages about one item, the latest first.

    One query; another one to count them where there are more than are shown.
    """
    found = (
        Message.objects.filter(access.messages_seen(member), matter=f"approval:{approval_id}")
        .select_related("user", "channel", "subscription")
        .order_by("-created_at", "-pk")
    )
    latest = list(found[: SHOWN_OF_ITEM + 1])
    count = found.count() if len(latest) > SHOWN_OF_ITEM else len(latest)
    return Told(latest[:SHOWN_OF_ITEM], count, access.sees_all_messages(member))


def open_alerts(team_id: int) -> QuerySet[Alert]:
    """What operators and admins of a team have to look at, the latest first."""
    return Alert.objects.filter(team_id=team_id, closed_at__isnull=True)


def past_alerts(team_id: int) -> QuerySet[Alert]:
    """What they had to look at, with who saw to it, the latest to close first."""
    past = Alert.objects.filter(team_id=team_id, closed_at__isnull=False)
    return past.select_related("closed_by").order_by("-closed_at", "-id")


def dead_letters(team_id: int) -> QuerySet[Message]:
    """Messages that were given up, the latest first."""
    return (
        Message.objects.filter(team_id=team_id, state=MessageState.DEAD)
        .select_related("user", "channel", "subscription")
        .order_by("-finished_at")
    )


def channels(team_id: int) -> QuerySet[Channel]:
    """A team's channels by name, each with how many messages of it wait and were given up."""
    return Channel.objects.filter(team_id=team_id).annotate(
        waiting=Count("messages", filter=Q(messages__state__in=TO_SEND)),
        dead=Count("messages", filter=Q(messages__state=MessageState.DEAD)),
    )


def of_channel(channel: Channel) -> QuerySet[Message]:
    """The messages of one channel, the latest first."""
    return channel.messages.select_related("user", "channel").order_by("-created_at", "-pk")

"""Reading the outbox: what became of messages, for items, channels and the admins' lists."""

from collections.abc import Iterable
from uuid import UUID

from django.db.models import Count, Q, QuerySet

from mcpdesk.notify.models import TO_SEND, Alert, Channel, Message, MessageState, Topic

#: How many messages a list of the admins shows.
SHOWN = 50


def told_about(matter: str, topics: Iterable[Topic]) -> set[int]:
    """The ids of everybody who was told of a matter, or is about to be."""
    told = Message.objects.filter(matter=matter, topic__in=list(topics), user__isnull=False)
    return set(told.values_list("user_id", flat=True))


def of_approval(approval_id: UUID) -> QuerySet[Message]:
    """Every message about one item, oldest first, with its recipient: one query.

    For templates/notify/deliveries.html.
    """
    return (
        Message.objects.filter(matter=f"approval:{approval_id}")
        .select_related("user", "channel", "subscription")
        .order_by("created_at", "pk")
    )


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

"""Messages that were given up are a matter of their own: somebody was not told."""

from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.urls import reverse

from mcpdesk.notify.alerts import close_alert, is_known, raise_alert
from mcpdesk.notify.models import Alert, Message, MessageState

KIND = "not_told"


def look(now: datetime) -> None:
    """One alert for each recipient whom messages could not be brought to, until none is left.

    None is left when they are sent again and arrive, or their channel is deleted.
    """
    dead = Message.objects.filter(state=MessageState.DEAD)
    found = dead.values("team_id", "target").annotate(latest=Max("finished_at"))
    matters = {(row["team_id"], f"{KIND}:{row['target']}"): row["latest"] for row in found}
    for (team_id, matter), latest in matters.items():
        if not is_known(team_id, matter, latest):
            _raise(team_id, matter, now)
    for alert in Alert.objects.filter(matter__startswith=f"{KIND}:", closed_at__isnull=True):
        if (alert.team_id, alert.matter) not in matters:
            with transaction.atomic():
                close_alert(alert.team_id, alert.matter, now)


@transaction.atomic
def _raise(team_id: int, matter: str, now: datetime) -> None:
    target = matter.partition(":")[2]
    dead: Any = Message.objects.filter(team_id=team_id, target=target, state=MessageState.DEAD)
    message = dead.select_related("user", "channel").order_by("-finished_at").first()
    if message is None:
        return
    to = message.channel or message.user
    sentence = (
        f"Messages to {to} by {message.get_medium_display()} could not be brought there, and were "
        "given up. An admin can send them again."
    )
    raise_alert(team_id, matter, sentence, now, path=reverse("channels"))

"""What the log below tells, and what admins are told of it."""

from datetime import datetime
from typing import Any

from django.dispatch import receiver

from mcpdesk.audit.signals import log_is_not_whole
from mcpdesk.notify.alerts import raise_alert


@receiver(log_is_not_whole)
def alert_of_the_log(*, team_id: int, sentence: str, now: datetime, **_: Any) -> None:
    """The log is not what was sealed: the admins look at it, and close the alert themselves."""
    words = f"The log is not what was sealed. {sentence}"
    raise_alert(team_id, "log", words, now, path="/audit/seals/")

"""The time zone of a person."""

import zoneinfo

from mcpdesk.accounts.models import User


def zone_of(user: User) -> zoneinfo.ZoneInfo:
    """The person's time zone; UTC when the machine does not know the name (any more)."""
    try:
        return zoneinfo.ZoneInfo(user.time_zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        return zoneinfo.ZoneInfo("UTC")

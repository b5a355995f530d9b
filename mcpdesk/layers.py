"""The channel layer over Redis, as Django's settings name it."""

from typing import Any, Final

#: How long (s) a connection waits for Redis to say something. channels_redis has Redis wait 5 s for
#: the next hint; redis-py 8 gives up after 5 s by itself, and a page that nothing happens on would
#: lose its socket every few seconds.
READ_TIMEOUT_S: Final = 30


def over_redis(url: str) -> dict[str, Any]:
    """The layer at this Redis (an address as redis-py takes it)."""
    host = {"address": url, "socket_timeout": READ_TIMEOUT_S}
    return {"BACKEND": "channels_redis.core.RedisChannelLayer", "CONFIG": {"hosts": [host]}}

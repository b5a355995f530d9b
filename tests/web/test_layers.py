"""Hints over Redis: a quiet page keeps its socket, and a burst takes only so many connections."""

import asyncio
import threading
from typing import Any

import pytest
from channels_redis.core import RedisChannelLayer

from mcpdesk.audit import announce
from mcpdesk.layers import over_redis


def test_a_connection_waits_longer_than_redis_does_for_the_next_hint() -> None:
    layer = RedisChannelLayer(**over_redis("redis://127.0.0.1:6379/0")["CONFIG"])
    pool = layer.create_pool(0)
    assert pool.connection_kwargs["socket_timeout"] > layer.brpop_timeout


class Slow:
    """A layer that counts how many send to it at one time."""

    def __init__(self, expected: int) -> None:
        self.now = self.most = self.sent = 0
        self.expected, self.all_sent = expected, threading.Event()

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0)
        self.now -= 1
        self.sent += 1
        if self.sent == self.expected:
            self.all_sent.set()


def test_of_a_burst_each_hint_is_sent_and_few_at_one_time(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = Slow(expected=500)
    monkeypatch.setattr(announce, "get_channel_layer", lambda: layer)
    for _ in range(500):
        announce.post("team.1", {"type": "live.change"})
    assert layer.all_sent.wait(10)
    assert layer.most <= 10

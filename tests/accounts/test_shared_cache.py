"""The cache that all web processes share, and the limits on sign-in that stand on it."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
import time_machine
from django.core.cache import cache
from django.db import connection
from django.test import Client

from mcpdesk.accounts.models import CacheEntry
from tests import databases
from tests.conftest import CHECKOUT
from tests.factories import NOW, UserFactory

pytestmark = pytest.mark.django_db

WRONG = {"login": "person@example.test", "password": "wrong wrong wrong"}
TRY_ELSEWHERE = """
import django, sys
django.setup()
from django.test import Client
from django.test.utils import override_settings
with override_settings(ALLOWED_HOSTS=["testserver"]):
    answer = Client().post("/accounts/login/", {"login": sys.argv[1], "password": sys.argv[2]})
print(answer.status_code, "Too many" in answer.content.decode())
"""


def test_a_value_is_kept_until_it_ends() -> None:
    with time_machine.travel(NOW, tick=False) as clock:
        cache.set("count", [1.5, 2], 60)
        assert cache.get("count") == [1.5, 2]
        clock.shift(timedelta(seconds=61))
        assert cache.get("count", "none") == "none"
        assert cache.add("count", [3], 60)
        assert cache.get("count") == [3]


def test_what_ended_goes_when_something_is_kept() -> None:
    with time_machine.travel(NOW, tick=False) as clock:
        cache.set("old", 1, 1)
        clock.shift(timedelta(seconds=2))
        cache.set("new", 1, 60)
    assert CacheEntry.objects.count() == 1


def test_adding_touching_and_deleting_say_whether_they_did() -> None:
    assert cache.add("lock", True, 60)
    assert not cache.add("lock", False, 60)
    assert cache.get("lock") is True
    assert cache.touch("lock", 60)
    assert cache.delete("lock")
    assert not cache.delete("lock")
    assert not cache.touch("lock", 60)


def test_a_value_can_be_kept_for_ever_and_all_can_be_cleared() -> None:
    cache.set("always", "here", None)
    with time_machine.travel(NOW + timedelta(days=9999)):
        assert cache.get("always") == "here"
    cache.clear()
    assert cache.get("always") is None


def test_no_key_stands_in_clear_and_nothing_but_json_is_kept() -> None:
    cache.set("10.1.2.3", 1)
    assert "10.1.2.3" not in CacheEntry.objects.get().key
    with pytest.raises(TypeError):
        cache.set("thing", object())


@pytest.mark.django_db(transaction=True)
def test_of_two_that_add_the_same_key_at_once_one_has_added_it() -> None:
    together = threading.Barrier(4)

    def add(number: int) -> bool:
        try:
            together.wait(10)
            return bool(cache.add("lock", number, 60))
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(add, range(4))) == 1


@pytest.mark.django_db(transaction=True)
def test_wrong_passwords_in_one_web_process_count_in_another() -> None:
    UserFactory(email=WRONG["login"])
    client = Client()
    answers = [client.post("/accounts/login/", WRONG) for _ in range(6)]
    assert "Too many" in answers[-1].content.decode()
    elsewhere = _in_another_process(TRY_ELSEWHERE, WRONG["login"], "correct horse battery")
    assert elsewhere.split() == ["200", "True"]


def _in_another_process(code: str, *arguments: str) -> str:
    environment = {"DATABASE_URL": databases.url(), "DJANGO_SETTINGS_MODULE": "tests.settings"}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=CHECKOUT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout

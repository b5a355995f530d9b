"""The file broker under several processes: a message is there whole or not at all."""

import threading
from collections.abc import Iterator
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from kombu import Connection

from mcpdesk.celery import app
from mcpdesk.embedded.broker import Channel


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "queue").mkdir()
    return tmp_path


@pytest.fixture
def connection(folder: Path) -> Iterator[Connection]:
    queue = str(folder / "queue")
    options = {
        "data_folder_in": queue,
        "data_folder_out": queue,
        "control_folder": str(folder / "control"),
        "polling_interval": 0.01,
    }
    with Connection("filesystem://", transport_options=options) as connection:
        yield connection


def _message(body: str) -> dict[str, Any]:
    return {
        "body": body,
        "headers": {},
        "properties": {"delivery_tag": body, "delivery_info": {"exchange": "", "routing_key": "x"}},
    }


def _take_all(connection: Connection, queue: str) -> list[str]:
    channel, taken = connection.channel(), []
    while True:
        try:
            taken.append(channel._get(queue)["body"])
        except Empty:
            return taken


def test_the_desk_uses_this_broker_wherever_files_are_the_broker() -> None:
    with Connection("filesystem://") as connection:
        assert isinstance(connection.channel(), Channel)
    assert app.conf.broker_url.startswith(("filesystem://", "redis://"))


def test_a_message_is_delivered_once(connection: Connection) -> None:
    queue = connection.SimpleQueue("celery")
    queue.put("look")
    message = queue.get(timeout=5)
    message.ack()
    assert message.payload == "look"
    with pytest.raises(Empty):
        queue.get(block=False)


def test_messages_come_in_the_order_they_were_put(connection: Connection) -> None:
    channel = connection.channel()
    for number in range(20):
        channel._put("celery", _message(str(number)))
    assert _take_all(connection, "celery") == [str(number) for number in range(20)]


def test_another_queues_message_is_left_alone(connection: Connection) -> None:
    connection.channel()._put("other", _message("x"))
    assert _take_all(connection, "celery") == []
    assert _take_all(connection, "other") == ["x"]


@pytest.mark.parametrize(
    "content",
    [
        b"", b"[]", b"5", b'"x"', b"null", b"{}", b'{"body": 5, "properties": []}', b"[" * 100_000,
        b'{"body": "x", "headers": {}, "properties": {"delivery_tag": 1}}', b"\xff",
    ],
)  # fmt: skip
def test_a_file_that_is_no_message_is_dropped_and_the_next_one_delivered(
    connection: Connection, folder: Path, content: bytes
) -> None:
    (folder / "queue" / "0_broken.celery.msg").write_bytes(content)
    connection.channel()._put("celery", _message("whole"))
    assert _take_all(connection, "celery") == ["whole"]
    assert list((folder / "queue").iterdir()) == []


def test_nothing_is_lost_doubled_or_torn_between_many_writers_and_readers(
    connection: Connection,
) -> None:
    taken: list[str] = []
    writing = threading.Event()
    writing.set()

    def write(writer: int) -> None:
        channel = connection.channel()
        for number in range(100):
            channel._put("celery", _message(f"{writer}-{number}"))

    def read() -> None:
        while writing.is_set():
            taken.extend(_take_all(connection, "celery"))

    writers = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    readers = [threading.Thread(target=read) for _ in range(4)]
    for thread in (*readers, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    writing.clear()
    for thread in readers:
        thread.join()
    taken.extend(_take_all(connection, "celery"))
    assert sorted(taken) == sorted(f"{w}-{n}" for w in range(4) for n in range(100))

"""Celery's filesystem broker, with messages that are there whole or not at all.

kombu's own transport opens a message's file under its final name and then writes it, so that a
worker may take an empty one, fail to read it, and end for good. Here every file appears by a rename
(rename(2) is atomic), a message is taken by a rename too, and what cannot be read is dropped: the
rows are the queue, a wake-up that is lost costs nothing.
"""

import json
import logging
import time
import uuid
from pathlib import Path
from queue import Empty
from typing import Any

from kombu.transport import filesystem, virtual

logger = logging.getLogger(__name__)

#: Files on their way in or out; no queue's name ends like this.
_PRIVATE = ".part"


class Channel(filesystem.Channel):  # type: ignore[misc]
    """One connection's view of the folders named in the transport options."""

    def _put(  # type: ignore[override]  # kombu names the second argument in two ways
        self, queue: str, message: dict[str, Any], **_: Any
    ) -> None:
        name = f"{time.time_ns()}_{uuid.uuid4()}.{queue}.msg"
        _write(Path(self.data_folder_out) / name, message)

    def _get(self, queue: str, timeout: float | None = None) -> Any:
        """The oldest message. Raises `queue.Empty`."""
        folder = Path(self.data_folder_in)
        for found in sorted(folder.glob(f"*.{queue}.msg")):
            mine = folder / f"{uuid.uuid4()}{_PRIVATE}"
            try:
                found.rename(mine)
            except FileNotFoundError:
                continue  # another worker was first
            message = _take(mine)
            if message is not None:
                return message
        raise Empty

    def _queue_bind(self, exchange: str, routing_key: str, pattern: str, queue: str) -> None:
        """Write down which queue an exchange leads to. There is one queue, so nothing is lost
        where two processes do this at once.
        """
        entry = filesystem.exchange_queue_t(routing_key or "", pattern or "", queue or "")
        table = self.get_table(exchange)  # type: ignore[no-untyped-call]
        if entry not in table:
            file = self._exchange_file(exchange)  # type: ignore[no-untyped-call]
            _write(file, [entry, *table])


class Transport(filesystem.Transport):  # type: ignore[misc]
    """What the alias "filesystem" means in this project (mcpdesk/celery.py)."""

    Channel = Channel
    global_state = virtual.BrokerState()  # type: ignore[no-untyped-call]


def _write(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.parent / f"{uuid.uuid4()}{_PRIVATE}"
    part.write_text(json.dumps(content))
    part.rename(path)


def _take(path: Path) -> Any:
    """The content of a file that is ours alone, which goes with it; None if it is no message."""
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        content = None
    finally:
        path.unlink()
    if _is_message(content):
        return content
    logger.warning("a wake-up could not be read and was dropped")
    return None


def _is_message(content: Any) -> bool:
    """Whether it has what kombu takes for granted; without, it would end the worker."""
    properties = content.get("properties") if isinstance(content, dict) else None
    if not isinstance(properties, dict) or not isinstance(content.get("headers"), dict):
        return False
    has_body = isinstance(content.get("body"), str) and "delivery_tag" in properties
    return has_body and isinstance(properties.get("delivery_info"), dict)

"""Structured log lines: ids, states, durations; never payloads, secrets or task ids in clear.

Which operation, item, team and request a line is about stands in fields of their own (`about`). Of
an exception the kind and the places are written and not its words: those of PostgreSQL, of a parser
or of a validator quote what they were given.
"""

import logging
import traceback
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Final

import structlog
from django.core.exceptions import ImproperlyConfigured
from django.db import InterfaceError, OperationalError

LINES: Final = "lines"
JSON: Final = "json"
FORMATS: Final = (LINES, JSON)

#: What these say is about the installation: addresses, files, settings.
_SPEAK_OF_THE_DESK: Final = (OSError, OperationalError, InterfaceError, ImproperlyConfigured)
#: The logger to which each event of the audit is a line.
EVENTS: Final = "mcpdesk.events"
ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None]


def about(**ids: object) -> AbstractContextManager[None]:
    """Every line that is logged within bears these: `about(operation=...)`."""
    return structlog.contextvars.bound_contextvars(**{name: str(id) for name, id in ids.items()})


def wordless(exc_info: ExcInfo) -> str:
    """The exception and what it came from, each with its places, the last one first."""
    error: BaseException | None = exc_info[1]
    told, seen = list[str](), set[int]()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        told += [_named(error), *_places(error)]
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "\n".join(told)


def _named(error: BaseException) -> str:
    name = type(error).__qualname__
    return f"{name}: {error}" if isinstance(error, _SPEAK_OF_THE_DESK) else name


def _places(error: BaseException) -> list[str]:
    frames = traceback.extract_tb(error.__traceback__)
    return [f"  {frame.filename}:{frame.lineno} {frame.name}" for frame in reversed(frames)]


def _without_query(_: object, __: str, entry: structlog.types.EventDict) -> Any:
    """A request is written with its path alone: what people look for stands behind it."""
    if isinstance(entry.get("request"), str):
        entry["request"] = entry["request"].partition("?")[0]
    return entry


_SHARED: Final[list[structlog.types.Processor]] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    _without_query,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.ExceptionRenderer(wordless),
]
_logfmt = structlog.processors.LogfmtRenderer(
    key_order=["timestamp", "level", "logger", "event"], drop_missing=True
)


def _one_line(logger: object, name: str, entry: structlog.types.EventDict) -> str:
    """`key=value` pairs; what would end the line, or does not show, is written out."""
    line = _logfmt(logger, name, entry)
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in line)


_RENDERERS: Final[dict[str, structlog.types.Processor]] = {
    LINES: _one_line,
    JSON: structlog.processors.JSONRenderer(ensure_ascii=True),
}


def formatter(form: str = LINES) -> logging.Formatter:
    """The formatter of every handler: a `key=value` line for each record, or a line of JSON."""
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=_SHARED,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            _RENDERERS[form],
        ],
    )


class LoopFailures(logging.Filter):
    """asyncio quotes the exception of a task that nobody waited for: its first line says enough."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = record.getMessage().partition("\n")[0], ()
        return True


class TaskFailures(logging.Filter):
    """Celery quotes the exception of a task that failed, and what it was given: only its name."""

    def filter(self, record: logging.LogRecord) -> bool:
        data = getattr(record, "data", None)
        if isinstance(data, dict):
            record.msg, record.args = "task %s failed", (data.get("name"),)
            del record.__dict__["data"]
        return True


def write_events() -> None:
    """From now on events are written: in processes that stay. A command says itself what it did."""
    logging.getLogger(EVENTS).setLevel(logging.NOTSET)


def configure() -> None:
    """Route structlog's own loggers through the standard library; call once at start."""
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_SHARED,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )

"""Structured log lines: ids, states, durations; never payloads, secrets or task ids in clear."""

import logging

import structlog

_SHARED: list[structlog.types.Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    # local variables stay out of tracebacks: they may hold arguments or answers
    structlog.processors.ExceptionRenderer(),
]


def formatter() -> logging.Formatter:
    """The formatter of every handler: one `key=value` line per record."""
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=_SHARED,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.LogfmtRenderer(
                key_order=["timestamp", "level", "logger", "event"], drop_missing=True
            ),
        ],
    )


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

"""Traces: OpenTelemetry, off unless an address for them is set; then nothing here costs anything.

A trace lasts as long as an operation, over processes and days. So no span stays open meanwhile:
each is made when its time is over, with the times it had, under the context that the operation
keeps (`traceparent`, W3C Trace Context). Attributes are ids, names, states; never payloads.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Final

from django.conf import settings
from opentelemetry import context as contexts
from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import (
    NoOpTracer,
    Span,
    SpanKind,
    Status,
    StatusCode,
    Tracer,
    set_span_in_context,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

Attributes = Mapping[str, str | bool | int]

_w3c: Final = TraceContextTextMapPropagator()
_off: Final = NoOpTracer()
_tracer: Tracer = _off


def configure() -> None:
    """Send traces to OTEL_EXPORTER_OTLP_ENDPOINT, if it is set; call once at start."""
    if settings.TRACES_TO:
        # imports that take half a second: no other start has to wait for them
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        use(BatchSpanProcessor(OTLPSpanExporter()))


def use(processor: SpanProcessor) -> Callable[[], None]:
    """Trace from now on, by way of this; what is returned ends that."""
    global _tracer
    provider = TracerProvider(resource=Resource({"service.name": settings.SERVICE_NAME}))
    provider.add_span_processor(processor)
    _tracer = provider.get_tracer("mcpdesk")

    def end() -> None:
        global _tracer
        _tracer = _off
        provider.shutdown()

    return end


def is_on() -> bool:
    """Whether spans are made at all."""
    return _tracer is not _off


@contextmanager
def within(headers: Mapping[str, str]) -> Iterator[None]:
    """What begins in here belongs to the trace of a request, where its headers name one."""
    token = contexts.attach(_context(headers.get("traceparent", "")))
    try:
        yield
    finally:
        contexts.detach(token)


def begin(name: str, at: datetime, attributes: Attributes) -> tuple[str, Callable[[], None]]:
    """The `traceparent` of what begins at `at` (UTC), and what makes its span, once it is certain.

    Without tracing it is that of the request around it; empty: there is none.
    """
    span = _tracer.start_span(name, attributes=attributes, start_time=_ns(at))
    return _traceparent(span), lambda: span.end(_ns(at))


def span(
    traceparent: str,
    name: str,
    start: datetime,
    end: datetime,
    attributes: Attributes,
    *,
    failed: bool = False,
    kind: SpanKind = SpanKind.INTERNAL,
) -> None:
    """A span of the trace, over a time (UTC) that has passed."""
    made = _tracer.start_span(
        name,
        context=_context(traceparent),
        kind=kind,
        attributes=attributes,
        start_time=_ns(start),
    )
    if failed:
        made.set_status(Status(StatusCode.ERROR))
    made.end(_ns(max(start, end)))


def _context(traceparent: str) -> Context:
    """The context that a `traceparent` names; what is no valid one names none."""
    return _w3c.extract({"traceparent": traceparent}, Context())


def _traceparent(made: Span) -> str:
    carrier: dict[str, str] = {}
    _w3c.inject(carrier, set_span_in_context(made, Context()))
    return carrier.get("traceparent", "")


def _ns(at: datetime) -> int:
    """Unix time in ns; a float of seconds has no room for them."""
    return int(at.timestamp() * 1_000_000) * 1_000

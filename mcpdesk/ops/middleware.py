"""What a request to the API belongs to, where whoever sends it says so."""

from collections.abc import Callable
from typing import Final

from django.http import HttpRequest, HttpResponse

from mcpdesk import tracing

_API: Final = "/api/"


class TraceContextMiddleware:
    """Takes up the trace that a request to the API names (`traceparent`, W3C Trace Context).

    Of pages it takes none: a browser is no part of anybody's trace.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.path.startswith(_API) or "traceparent" not in request.headers:
            return self.get_response(request)
        with tracing.within(request.headers):
            return self.get_response(request)

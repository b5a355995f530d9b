"""What every answer of the API has in common, also those that no route of it makes."""

from collections.abc import Callable
from typing import Final

from django.http import HttpRequest, HttpResponse

from mcpdesk.api import problems

ROOT: Final = "/api/v1/"

Respond = Callable[[HttpRequest], HttpResponse]


class ApiMiddleware:
    """Turns every failure below /api/v1/ into problem details, and says what is left of the limit.

    The outermost of all but those for static files: what middleware within refuses, an address
    that is none and a mistake of ours all come by here.
    """

    def __init__(self, get_response: Respond) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if not request.path_info.startswith(ROOT):
            return response
        if response.status_code >= 400:
            response = problems.instead_of(response)
        rate = getattr(request, "rate", None)
        if rate is not None:
            for name, value in rate.headers().items():
                response.setdefault(name, value)
        return response

"""What went wrong, as RFC 9457 problem details."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse

CONTENT_TYPE = "application/problem+json"
#: Where the kinds of problem stand that have no page of their own (RFC 9457, 4.2).
_PLAIN = "about:blank"


class Problem(Exception):
    """A request that is not carried out. `kind` names what programs may want to tell apart.

    `errors` are by field: {"field", "detail"}. Nothing that was sent is repeated in any of it.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        kind: str = "",
        *,
        errors: list[dict[str, str]] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.kind = kind
        self.errors = errors or []
        self.headers = dict(headers or {})

    def body(self) -> dict[str, Any]:
        members: dict[str, Any] = {
            "type": f"urn:mcpdesk:problem:{self.kind}" if self.kind else _PLAIN,
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
        }
        return {**members, "errors": self.errors} if self.errors else members

    def response(self) -> HttpResponse:
        text = json.dumps(self.body(), ensure_ascii=False)
        return HttpResponse(
            text, status=self.status, content_type=CONTENT_TYPE, headers=self.headers
        )


#: What is said of an answer that no route of ours made.
_IN_GENERAL = {
    400: "The request cannot be read.",
    404: "There is no such thing for this token.",
    405: "This address does not take that method.",
    413: "The request is too big. Nothing was changed.",
    500: "The desk made a mistake; its log says which. Nothing is known to have been changed.",
    503: "The desk cannot answer just now. Try again.",
}


def instead_of(response: Any) -> HttpResponse:
    """The same failure as a problem, where it was said in HTML or in plain text."""
    if response.get("Content-Type", "").startswith(CONTENT_TYPE):
        return response  # type: ignore[no-any-return]
    status = response.status_code
    kept = {name: response[name] for name in ("Allow", "Retry-After") if name in response}
    detail = _IN_GENERAL.get(status, f"{HTTPStatus(status).phrase}.")
    return Problem(status, detail, headers=kept).response()


def not_found(request: HttpRequest, *_: Any, **__: Any) -> HttpResponse:
    """An address of the API that is none."""
    return Problem(404, "There is no such address.").response()

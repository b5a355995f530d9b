"""The API itself, and the OpenAPI document that describes it."""

import logging
from types import ModuleType
from typing import Any, Final

from cryptography.fernet import InvalidToken
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError
from ninja.openapi.schema import OpenAPISchema
from ninja.parser import Parser

from approvals import repair
from mcpdesk.accounts import errors as account_errors
from mcpdesk.accounts.tokens import Scope
from mcpdesk.api import parameters
from mcpdesk.api.problems import CONTENT_TYPE, Problem
from tasks_monitor.engine import errors as engine_errors

logger = logging.getLogger(__name__)

NO_KEY: Final = (
    "No key of this desk opens what is stored: it was encrypted with one that is not in "
    "MCPDESK_ENCRYPTION_KEYS any more. Nothing was changed."
)
_PROBLEM = {"schema": {"$ref": "#/components/schemas/Problem"}}
#: What any route can answer besides its own.
_ALWAYS = {
    "400": "The request cannot be read",
    "401": "No token, or one that opens nothing",
    "403": "The token, its holder or the policy does not allow it",
    "404": "There is no such thing for this token",
    "422": "Something that was sent means nothing here",
    "429": "Too many requests: wait as Retry-After says",
    "503": "The desk cannot answer just now, and says why",
}
_WITH_BODY = {"413": "The body is too big", "415": "The body is no JSON"}
_SCHEMA = {
    "type": "object",
    "description": "RFC 9457",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["field", "detail"],
                "properties": {"field": {"type": "string"}, "detail": {"type": "string"}},
            },
        },
    },
}


class JsonOnly(Parser):
    """Reads JSON, and nothing that calls itself something else (RFC 9110, 15.5.16)."""

    def parse_body(self, request: HttpRequest) -> dict[str, Any]:
        if request.content_type != "application/json":
            raise Problem(415, "Send JSON, as Content-Type: application/json.")
        try:
            return super().parse_body(request)
        except (ValueError, RecursionError):
            raise Problem(400, "The body is no JSON.") from None


class Document(NinjaAPI):
    """NinjaAPI with problems in its document, beside what each route answers, and with scopes."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        #: What a token has to allow, by the id of the route (describe).
        self.scopes: dict[str, Scope] = {}

    def get_openapi_schema(self, *args: Any, **more: Any) -> OpenAPISchema:
        document = super().get_openapi_schema(*args, **more)
        document["components"]["schemas"]["Problem"] = _SCHEMA
        for methods in document["paths"].values():
            for operation in methods.values():
                self._add_problems(operation)
                # OpenAPI 3.1: the names of what is needed may stand here for any scheme
                operation["security"] = [{"Bearer": [self.scopes[operation["operationId"]].value]}]
                operation["summary"] = operation["description"].split("\n")[0].rstrip(".")
        return document

    @staticmethod
    def _add_problems(operation: dict[str, Any]) -> None:
        possible = {**_ALWAYS, **(_WITH_BODY if "requestBody" in operation else {})}
        responses = operation["responses"]
        for status, description in possible.items():
            responses.setdefault(int(status), {"description": description})
        for status, response in responses.items():
            if int(status) >= 400:
                response["content"] = {CONTENT_TYPE: _PROBLEM}


def add_handlers(api: NinjaAPI) -> None:
    """Say what people and programs do wrong as problems; mistakes of ours go on to Django."""
    api.add_exception_handler(Problem, _problem)
    api.add_exception_handler(HttpError, _unread)
    api.add_exception_handler(Http404, _missing)
    api.add_exception_handler(PermissionDenied, _denied)
    api.add_exception_handler(InvalidToken, _lost)
    api.add_exception_handler(ValidationError, _invalid)
    api.add_exception_handler(repair.Overtaken, _overtaken)
    api.add_exception_handler(repair.NotYours, _not_yours)
    api.add_exception_handler(engine_errors.Refused, _refused)
    api.add_exception_handler(account_errors.Refused, _refused)


def describe(document: Document, *routes: ModuleType) -> None:
    """Tell each door which query parameters its route knows: what else comes is refused there; and
    the document which scope each door asks for.
    """
    for module in routes:
        for view in module.router.path_operations.values():
            for operation in view.operations:
                operation.auth_param.parameters = parameters.of(operation)
                route = document.get_openapi_operation_id(operation)
                document.scopes[route] = operation.auth_param.scope


def _problem(request: HttpRequest, problem: Any) -> HttpResponse:
    return problem.response()  # type: ignore[no-any-return]


def _unread(request: HttpRequest, error: Any) -> HttpResponse:
    """What ninja refuses by itself: a body that its parser (JsonOnly) could not take."""
    cause = error.__context__
    problem = cause if isinstance(cause, Problem) else Problem(error.status_code, error.message)
    return problem.response()


def _missing(request: HttpRequest, _: Any) -> HttpResponse:
    return Problem(404, "There is no such thing for this token.").response()


def _denied(request: HttpRequest, denied: Any) -> HttpResponse:
    return Problem(403, str(denied), "role").response()


def _lost(request: HttpRequest, _: Any) -> HttpResponse:
    logger.error("no configured key opens what %s needs", request.path_info)
    return Problem(503, NO_KEY).response()


def _invalid(request: HttpRequest, invalid: Any) -> HttpResponse:
    """Which fields, and why; never what stood in them."""
    errors = [{"field": _field(one["loc"]), "detail": str(one["msg"])} for one in invalid.errors]
    return Problem(422, "Something that was sent means nothing here.", errors=errors).response()


def _field(location: Any) -> str:
    """The path of a field without where it stood (query, body) and what the body is called."""
    parts = [str(part) for part in location]
    return ".".join(parts[2:] if parts[:1] == ["body"] and len(parts) > 2 else parts[1:])


def _overtaken(request: HttpRequest, refused: Any) -> HttpResponse:
    return Problem(409, refused.sentence, "decided").response()


def _not_yours(request: HttpRequest, refused: Any) -> HttpResponse:
    return Problem(403, refused.sentence, "not-yours").response()


def _refused(request: HttpRequest, refused: Any) -> HttpResponse:
    return Problem(422, refused.sentence, "refused").response()

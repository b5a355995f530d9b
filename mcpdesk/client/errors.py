"""What a desk refuses, and a desk that cannot be reached, as exceptions."""

from collections.abc import Mapping
from typing import Any


class ApiError(Exception):
    """The desk said no (RFC 9457): `status`, `kind` (the last part of its type), `detail`, and
    `errors` by field.
    """

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        self.status = status
        self.kind = str(problem.get("type", "")).rpartition(":")[2]
        self.detail = str(problem.get("detail", f"The desk answered {status}."))
        self.errors = {
            str(error["field"]): str(error["detail"]) for error in problem.get("errors", [])
        }
        super().__init__(self.detail)

    def __str__(self) -> str:
        fields = "".join(f"\n  {field}: {said}" for field, said in self.errors.items())
        return f"{self.detail}{fields}"


class Unauthorized(ApiError):
    """The token opens nothing (any more)."""


class Forbidden(ApiError):
    """The token, its holder's role, or the team's policy does not allow it."""


class NotFound(ApiError):
    """There is no such thing for this token."""


class Conflict(ApiError):
    """It changed since it was read, or somebody else was first."""


class Invalid(ApiError):
    """Something that was sent means nothing to the desk, or cannot be done now."""


class RateLimited(ApiError):
    """Too many requests, for longer than was to be waited."""


class Unreachable(Exception):
    """No answer came, or none of a desk, for as long as it was tried."""


_BY_STATUS: dict[int, type[ApiError]] = {
    400: Invalid,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    413: Invalid,
    415: Invalid,
    422: Invalid,
    429: RateLimited,
}


def error_of(status: int, problem: Mapping[str, Any]) -> ApiError:
    return _BY_STATUS.get(status, ApiError)(status, problem)

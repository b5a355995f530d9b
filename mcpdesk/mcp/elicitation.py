"""Questions to a person: the params of `elicitation/create` (client/elicitation)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcpdesk.mcp.inputs import InputRequest


@dataclass(frozen=True, slots=True)
class FormElicitation:
    """A form: `requested_schema` as the server sent it."""

    message: str
    requested_schema: dict[str, Any]


@dataclass(frozen=True, slots=True)
class UrlElicitation:
    """A page to open. Accepting means "agreed to open it", not "finished there"."""

    message: str
    url: str
    elicitation_id: str | None


@dataclass(frozen=True, slots=True)
class InvalidElicitation:
    """A question that cannot be put to a person, and why, in a sentence."""

    reason: str


Elicitation = FormElicitation | UrlElicitation | InvalidElicitation


def read(request: InputRequest) -> Elicitation:
    """The elicitation in an input request; a `problem` of the request is its reason."""
    raise NotImplementedError


def read_params(params: Mapping[str, Any]) -> Elicitation:
    """The elicitation in these params. An absent mode means form (client/elicitation)."""
    raise NotImplementedError

"""Questions to a person: the params of `elicitation/create` (client/elicitation)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

METHOD = "elicitation/create"


@dataclass(frozen=True, slots=True)
class FormElicitation:
    """A form: `requested_schema` as the server sent it."""

    message: str
    requested_schema: dict[str, Any]


@dataclass(frozen=True, slots=True)
class UrlElicitation:
    """A page to open. Accepting means "agreed to open it", not "finished there".

    `url` is whatever the server calls an address: it is shown, and can be declined; whether it may
    be opened is for `approvals.links` to say.
    """

    message: str
    url: str
    elicitation_id: str | None


@dataclass(frozen=True, slots=True)
class InvalidElicitation:
    """A question that cannot be put to a person, and why, in a sentence."""

    reason: str


Elicitation = FormElicitation | UrlElicitation | InvalidElicitation


def read_params(params: Mapping[str, Any]) -> Elicitation:
    """The question in the params of an input request. An absent mode means form."""
    message = params.get("message")
    if not isinstance(message, str):
        return InvalidElicitation("The question has no message.")
    mode = params.get("mode", "form")
    if mode == "form":
        return _read_form(message, params.get("requestedSchema"))
    if mode == "url":
        return _read_url(message, params.get("url"), params.get("elicitationId"))
    return InvalidElicitation("The question is of a mode this desk does not offer.")


def _read_form(message: str, schema: Any) -> FormElicitation | InvalidElicitation:
    if not isinstance(schema, dict):
        return InvalidElicitation("The question is a form, but has no schema for it.")
    return FormElicitation(message, schema)


def _read_url(message: str, url: Any, elicitation_id: Any) -> UrlElicitation | InvalidElicitation:
    if not isinstance(url, str) or not url:
        return InvalidElicitation("The question is a page to open, but has no address.")
    known_id = elicitation_id if isinstance(elicitation_id, str) else None
    return UrlElicitation(message, url, known_id)

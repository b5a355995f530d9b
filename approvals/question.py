"""What a server asks, read once from an input request, as the desk puts it to a person."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from approvals import schema_form
from approvals.links import LinkFacts, inspect_url
from approvals.models import Choice, Shape
from mcpdesk.mcp import elicitation
from tasks_monitor.models import InputRequest

Submitted: TypeAlias = Mapping[str, str | list[str]]
"""What a browser posts for a question's fields, by the server's names for them."""

_AFTER_HOST = re.compile(r"[/?#]")
_CHOOSING = (schema_form.Kind.CHOICE, schema_form.Kind.CHOICES)
_SAYS_NO = frozenset({Choice.DECLINE, Choice.CANCEL})


@dataclass(frozen=True, slots=True)
class Question:
    """A question and what may be said to it. Every text in it is the server's, except `problem`.

    `problem` is a sentence of ours: why it is not offered, or why it cannot be shown or opened.
    """

    shape: Shape
    message: str = ""
    fields: tuple[schema_form.Field, ...] = ()
    requested_schema: dict[str, Any] | None = None
    link: LinkFacts | None = None
    problem: str = ""

    @property
    def allowed(self) -> frozenset[Choice]:
        """What can be sent back; a question this desk does not offer takes no answer at all."""
        if self.shape == Shape.UNOFFERED:
            return frozenset()
        return _SAYS_NO if self.problem else frozenset(Choice)

    @property
    def asks_for_secrets(self) -> bool:
        return any(field.secret_like for field in self.fields)


def read(request: InputRequest) -> Question:
    """The question in an input request, whatever a server put there. Never raises."""
    if request.problem:
        return Question(Shape.UNOFFERED, problem=request.problem)
    asked = elicitation.read_params(request.params or {})
    if isinstance(asked, elicitation.InvalidElicitation):
        return Question(Shape.UNOFFERED, problem=asked.reason)
    if isinstance(asked, elicitation.UrlElicitation):
        return _link(asked, request.operation.server.url)
    return _form(asked)


def _link(asked: elicitation.UrlElicitation, server_url: str) -> Question:
    link = inspect_url(asked.url, server_host(server_url))
    return Question(Shape.LINK, asked.message, link=link, problem=link.reason)


def _form(asked: elicitation.FormElicitation) -> Question:
    found = schema_form.fields(asked.requested_schema)
    if isinstance(found, schema_form.Unrenderable):
        return Question(
            Shape.UNSHOWN,
            asked.message,
            requested_schema=asked.requested_schema,
            problem=f"This question cannot be shown as a form. {found.reason}",
        )
    return Question(
        _shape(found), asked.message, fields=found, requested_schema=asked.requested_schema
    )


def _shape(fields: tuple[schema_form.Field, ...]) -> Shape:
    if not fields:
        return Shape.CONFIRM
    return Shape.CHOOSE if len(fields) == 1 and fields[0].kind in _CHOOSING else Shape.FORM


def server_host(server_url: str) -> str:
    """The host of an endpoint, with its port, for people and for comparing."""
    return _AFTER_HOST.split(server_url.partition("//")[2], maxsplit=1)[0]

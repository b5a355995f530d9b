"""The form of the start page: a tool's input schema as controls, or its JSON editor."""

import json
from dataclasses import dataclass, field
from typing import Any

from django.http import QueryDict

from approvals import schema_form
from approvals.forms import Control, controls, submitted
from approvals.models import Shape
from approvals.question import Question
from approvals.schema_form import Answer, Field, Unrenderable
from tasks_monitor.selectors import ToolView

_BY_CHOICE = "You chose to write the arguments as JSON."
_NOT_JSON = "This is not JSON: {problem} (line {line}, column {column})."
_TOO_MANY_DIGITS = "A number in the JSON has more digits than can be read."
_NOT_OBJECT = "The arguments must be a JSON object: {…}."


@dataclass(frozen=True, slots=True)
class ArgumentsForm:
    """What the page shows for the arguments.

    `why_json`: why there is an editor and no form (empty: a form). `text`: what stands in the
    editor. `arguments` is set once what was posted can be sent.
    """

    controls: list[Control] = field(default_factory=list)
    why_json: str = ""
    text: str = ""
    error: str = ""
    arguments: dict[str, Any] | None = None

    @property
    def is_json(self) -> bool:
        return bool(self.why_json)

    @property
    def by_choice(self) -> bool:
        """Whether there is a form to go back to."""
        return self.why_json == _BY_CHOICE


def empty_form(tool: ToolView, *, as_json: bool) -> ArgumentsForm:
    """The form before anything was typed, with the server's suggestions."""
    fields = schema_form.fields(tool.input_schema)
    if isinstance(fields, Unrenderable):
        return ArgumentsForm(why_json=fields.reason, text="{\n}")
    if as_json:
        return ArgumentsForm(why_json=_BY_CHOICE, text="{\n}")
    return ArgumentsForm(controls(_as_question(fields), None, {}))


def posted_form(tool: ToolView, post: QueryDict) -> ArgumentsForm:
    """The form as it was posted: with `arguments`, or with what is wrong beside each field."""
    fields = schema_form.fields(tool.input_schema)
    if isinstance(fields, Unrenderable):
        return _posted_json(post, fields.reason)
    if "arguments" in post:
        return _posted_json(post, _BY_CHOICE)
    asked = _as_question(fields)
    typed = submitted(post, asked)
    answer = schema_form.answer(tool.input_schema, typed)
    if isinstance(answer, Answer):
        return ArgumentsForm(controls(asked, typed, {}), arguments=answer.content)
    if isinstance(answer, Unrenderable):
        return _posted_json(post, answer.reason)
    whole = answer.errors.get(schema_form.FORM_ERRORS, "")
    return ArgumentsForm(controls(asked, typed, answer.errors), error=whole)


def _as_question(fields: tuple[Field, ...]) -> Question:
    """A tool's arguments are drawn and read with the same controls as a server's question."""
    return Question(Shape.FORM, fields=fields)


def _posted_json(post: QueryDict, why: str) -> ArgumentsForm:
    text = post.get("arguments", "")
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        problem = _NOT_JSON.format(problem=error.msg, line=error.lineno, column=error.colno)
        return ArgumentsForm(why_json=why, text=text, error=problem)
    except ValueError:
        return ArgumentsForm(why_json=why, text=text, error=_TOO_MANY_DIGITS)
    except RecursionError:
        return ArgumentsForm(why_json=why, text=text, error="The JSON nests too deeply.")
    if not isinstance(value, dict):
        return ArgumentsForm(why_json=why, text=text, error=_NOT_OBJECT)
    return ArgumentsForm(why_json=why, text=text, arguments=value)

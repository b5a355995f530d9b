"""Fields as controls of a page, and back from what a browser posts."""

from typing import Any

import pytest
from django.http import QueryDict

from approvals import forms, question
from approvals.forms import Control
from approvals.models import Choice
from approvals.question import Question
from tests.factories import InputRequestFactory, OperationFactory, form_params


def _asked(**properties: Any) -> Question:
    request = InputRequestFactory.build(
        operation=OperationFactory.build(), params=form_params(**properties)
    )
    return question.read(request)


def _control(schema: dict[str, Any]) -> Control:
    return forms.controls(_asked(a=schema), None, {})[0]


TITLED = {
    "type": "string",
    "oneOf": [{"const": "n", "title": "Now"}, {"const": "t", "title": "Tonight"}],
}


@pytest.mark.parametrize(
    ("schema", "widget", "input_type"),
    [
        ({"type": "string"}, "line", "text"),
        ({"type": "string", "maxLength": 5000}, "lines", "text"),
        ({"type": "string", "format": "email"}, "line", "email"),
        ({"type": "string", "format": "uri"}, "line", "url"),
        ({"type": "string", "format": "date"}, "line", "date"),
        ({"type": "string", "format": "date-time"}, "line", "datetime-local"),
        ({"type": "integer"}, "line", "text"),
        ({"type": "number"}, "line", "text"),
        ({"type": "boolean", "default": False}, "switch", "text"),
        ({"type": "boolean"}, "buttons", "text"),
        ({"type": "string", "enum": ["a", "b"]}, "buttons", "text"),
        ({"type": "string", "enum": list("abcdefg")}, "list", "text"),
        ({"type": "array", "items": {"type": "string", "enum": ["a"]}}, "boxes", "text"),
        ({"type": "string", "title": "API key"}, "line", "password"),
    ],
)
def test_every_kind_of_field_has_its_control(
    schema: dict[str, Any], widget: str, input_type: str
) -> None:
    control = _control(schema)
    assert (control.widget, control.input_type) == (widget, input_type)


@pytest.mark.parametrize(
    ("schema", "sentence"),
    [
        ({"type": "integer", "minimum": 0, "maximum": 10}, "At least 0, at most 10."),
        ({"type": "number", "exclusiveMinimum": 0}, "More than 0."),
        (
            {"type": "string", "minLength": 0, "maxLength": 5},
            "At least 0 characters, at most 5 characters.",
        ),
        ({"type": "string", "minLength": 1}, "At least 1 character."),
        ({"type": "string", "format": "date-time"}, "In UTC."),
        ({"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1}, "At least 1 to choose."),
        ({"type": "string"}, ""),
    ],
)
def test_the_limits_are_said_also_when_they_are_zero(schema: dict[str, Any], sentence: str) -> None:
    assert _control(schema).limits == sentence


@pytest.mark.parametrize(
    ("schema", "suggestion", "value"),
    [
        ({"type": "boolean", "default": False}, "no", ""),
        ({"type": "boolean", "default": True}, "yes", "on"),
        ({"type": "boolean"}, "", ""),
        ({"type": "integer", "default": 0}, "0", "0"),
        ({"type": "string", "default": "api"}, "api", "api"),
        ({**TITLED, "default": "n"}, "Now", "n"),
        ({"type": "string", "title": "Password", "default": "hunter2"}, "", ""),
    ],
)
def test_the_servers_default_is_a_suggestion_and_fills_no_secret(
    schema: dict[str, Any], suggestion: str, value: str
) -> None:
    control = _control(schema)
    assert control.suggestion == suggestion
    assert control.value == value


def test_what_was_typed_stands_instead_of_the_suggestion() -> None:
    asked = _asked(a={"type": "string", "default": "theirs"})
    [control] = forms.controls(asked, {"a": "mine"}, {"a": "Too short."})
    assert (control.value, control.error) == ("mine", "Too short.")
    assert control.described_by == "field-0-error"
    [emptied] = forms.controls(asked, {"a": ""}, {})
    assert emptied.value == ""


def test_a_post_comes_back_under_the_servers_names() -> None:
    asked = _asked(
        a={"type": "string"},
        b={"type": "array", "items": {"enum": ["x", "y"]}},
        c={"type": "boolean"},
    )
    post = QueryDict("field-0=text&field-1=x&field-1=y")
    assert forms.submitted(post, asked) == {"a": "text", "b": ["x", "y"], "c": ""}


def test_a_yes_or_no_without_a_suggestion_is_two_buttons_and_neither_is_pressed() -> None:
    control = _control({"type": "boolean"})
    assert [(option.value, option.title) for option in control.options] == [
        ("on", "Yes"),
        ("off", "No"),
    ]
    assert control.values == ()


@pytest.mark.parametrize(("posted", "shown"), [("on", "yes"), ("off", "no")])
def test_what_was_said_to_a_yes_or_no_is_shown_again(posted: str, shown: str) -> None:
    [control] = forms.controls(_asked(a={"type": "boolean"}), {"a": posted}, {})
    assert control.shown_values == shown


def test_a_field_named_like_a_control_of_ours_stands_in_for_nothing() -> None:
    asked = _asked(choice={"type": "string"}, binding={"type": "string"})
    post = QueryDict("choice=decline&binding=token&field-0=forged&field-1=accept")
    said = forms.said(post, asked)
    assert said is not None
    assert (said.choice, said.token) == (Choice.DECLINE, "token")
    assert said.submitted == {"choice": "forged", "binding": "accept"}


@pytest.mark.parametrize("body", ["", "choice=", "choice=approve", "choice=ACCEPT"])
def test_a_post_without_a_choice_we_know_says_nothing(body: str) -> None:
    assert forms.said(QueryDict(body), _asked()) is None

import pytest

from mcpdesk.simulator.schemas import problems
from mcpdesk.simulator.tools.forms import EVERY_KIND

GOOD = {
    "text": "abc",
    "email": "a@example.com",
    "address": "https://example.com",
    "day": "2026-07-28",
    "moment": "2026-07-28T00:00:00Z",
    "code": "ABC",
    "amount": 0,
    "count": 5.0,
    "sure": False,
    "colour": "red",
    "titled": "#f00",
    "older": "r",
    "several": ["a"],
    "several_titled": ["#0f0"],
}


def check(**content: object) -> list[str]:
    return problems(EVERY_KIND["params"]["requestedSchema"], GOOD | content)


def test_a_form_with_every_kind_of_field_has_an_answer():
    assert check() == []


@pytest.mark.parametrize(
    "content",
    [
        {"text": 1},
        {"text": "a"},
        {"text": "a" * 21},
        {"amount": -0.1},
        {"amount": 99.6},
        {"amount": True},
        {"amount": "1"},
        {"count": 1.5},
        {"count": True},
        {"sure": "false"},
        {"sure": 0},
        {"colour": "blue"},
        {"titled": "Red"},
        {"several": []},
        {"several": ["a", "b", "c"]},
        {"several": ["d"]},
        {"several": "a"},
        {"several_titled": ["Red"]},
    ],
)
def test_content_that_does_not_fit_is_named(content):
    (problem,) = check(**content)
    assert problem.startswith(next(iter(content)))


def test_what_is_required_must_be_there():
    schema = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}
    assert problems(schema, {}) == ["x is required"]

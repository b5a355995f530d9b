"""A length of time in a form: what stands there, and what is read back."""

from typing import Any

import pytest
from django import forms
from hypothesis import given
from hypothesis import strategies as st

from mcpdesk.durations import UNITS, DurationField, in_unit, in_words


class Spans(forms.Form):
    """At most 30 days; hours are the smallest unit of the second."""

    any = DurationField(label="Any", least=60, most=30 * 86400, required=False)
    long = DurationField(label="Long", least=3600, most=30 * 86400, units=("hours", "days"))


def _read(**posted: str) -> Spans:
    form = Spans({"long": "1", **posted})
    form.is_valid()
    return form


@given(st.integers(1, 30 * 24 * 60))
def test_what_the_form_shows_is_read_back_as_the_same_time(minutes: int) -> None:
    number, unit = in_unit(minutes * 60)
    assert _read(any=str(number), any_unit=unit).cleaned_data["any"] == minutes * 60
    assert number * UNITS[unit] == minutes * 60


@pytest.mark.parametrize(
    ("posted", "seconds"),
    [
        ({}, None),
        ({"any": "", "any_unit": "days"}, None),
        ({"any": "5"}, 300),
        ({"any": "5", "any_unit": "hours"}, 18000),
        ({"any": "30", "any_unit": "days"}, 30 * 86400),
    ],
)
def test_a_number_with_its_unit_is_so_many_seconds(
    posted: dict[str, str], seconds: int | None
) -> None:
    assert _read(**posted).cleaned_data["any"] == seconds


@pytest.mark.parametrize(
    ("posted", "field", "says"),
    [
        ({"any": "0"}, "any", "greater than or equal to 1"),
        ({"any": "31", "any_unit": "days"}, "any", "From 1 minute to 30 days."),
        ({"any": "5", "any_unit": "weeks"}, "any", "not one of the available choices"),
        ({"any": "1.5"}, "any", "whole number"),
        ({"long": "5", "long_unit": "minutes"}, "long", "not one of the available choices"),
        ({"long": ""}, "long", "This field is required."),
    ],
)
def test_what_is_no_such_time_is_refused_in_words(
    posted: dict[str, str], field: str, says: str
) -> None:
    assert says in str(_read(**posted).errors[field])


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (60, "1 minute"),
        (5400, "90 minutes"),
        (3600, "1 hour"),
        (86400, "1 day"),
        (172800, "2 days"),
    ],
)
def test_a_time_in_words(seconds: int, words: str) -> None:
    assert in_words(seconds) == words


def test_the_control_is_a_number_with_its_label_and_a_list_that_is_named() -> None:
    bound: Any = Spans(initial={"any": 7200})["any"]
    html = bound.as_widget(attrs={"class": "form-control"})
    assert f'<label for="{bound.id_for_label}">' in bound.label_tag()
    assert 'name="any" value="2"' in html
    assert f'id="{bound.id_for_label}"' in html
    assert '<option value="hours" selected>' in html
    assert 'aria-label="Unit"' in html
    assert 'class="form-select"' in html

"""A length of time in a form: a number and its unit; in seconds everywhere else."""

from collections.abc import Sequence
from typing import Any, Final

from django import forms
from django.core.exceptions import ValidationError
from django.utils.html import format_html
from django.utils.safestring import SafeString

#: Seconds of each unit, by the value that a browser posts.
UNITS: Final = {"minutes": 60, "hours": 60 * 60, "days": 24 * 60 * 60}


def in_unit(seconds: int, units: Sequence[str] = tuple(UNITS)) -> tuple[int, str]:
    """As a number of the biggest unit that holds it whole, else of the smallest one."""
    whole = [unit for unit in units if seconds % UNITS[unit] == 0]
    unit = max(whole or units[:1], key=UNITS.__getitem__)
    return seconds // UNITS[unit], unit


def in_words(seconds: int) -> str:
    """ "1 hour", "90 minutes", "30 days"."""
    number, unit = in_unit(seconds)
    return f"{number} {unit.removesuffix('s') if number == 1 else unit}"


class DurationWidget(forms.MultiWidget):
    """A number, and beside it the unit."""

    def __init__(self, units: Sequence[str]) -> None:
        self.units = units
        number = forms.NumberInput(attrs={"min": 1})
        unit = forms.Select({"aria-label": "Unit"}, [(one, one) for one in units])
        super().__init__({"": number, "unit": unit})

    def id_for_label(self, id_: str) -> str:
        """Of the number."""
        return f"{id_}_0" if id_ else id_

    def decompress(self, value: int | None) -> list[Any]:
        return [None, self.units[0]] if value is None else list(in_unit(value, self.units))

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        context = super().get_context(name, value, attrs)
        unit = context["widget"]["subwidgets"][1]["attrs"]
        # the look is that of a number; a list has one of its own
        unit["class"] = unit.get("class", "").replace("form-control", "form-select")
        return context

    def render(self, *args: Any, **kwargs: Any) -> SafeString:
        return format_html('<div class="duration">{}</div>', super().render(*args, **kwargs))


class DurationField(forms.MultiValueField):
    """A duration in whole seconds, between `least` and `most`; posted without a unit, it is in the
    smallest one.
    """

    def __init__(
        self, *, least: int, most: int, units: Sequence[str] = tuple(UNITS), **kwargs: Any
    ) -> None:
        self.least, self.most, self.units = least, most, units
        number = forms.IntegerField(min_value=1, required=False)
        unit = forms.ChoiceField(choices=[(one, one) for one in units], required=False)
        super().__init__(
            (number, unit), require_all_fields=False, widget=DurationWidget(units), **kwargs
        )

    def compress(self, data_list: list[Any]) -> int | None:
        number, unit = data_list or (None, "")
        if number is None:
            if self.required:
                raise ValidationError(self.error_messages["required"], code="required")
            return None
        seconds: int = number * UNITS[unit or self.units[0]]
        if not self.least <= seconds <= self.most:
            words = f"From {in_words(self.least)} to {in_words(self.most)}."
            raise ValidationError(words, code="out_of_range")
        return seconds

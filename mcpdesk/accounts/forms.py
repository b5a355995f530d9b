"""Forms about people."""

import zoneinfo

from django import forms


def zone_choices() -> list[tuple[str, str]]:
    """Every place name of the time zone database, UTC first."""
    names = sorted(n for n in zoneinfo.available_timezones() if "/" in n and "Etc/" not in n)
    return [("UTC", "UTC"), *((name, name.replace("_", " ")) for name in names)]


class ProfileForm(forms.Form):
    name = forms.CharField(max_length=120, help_text="What colleagues and the log call you.")
    time_zone = forms.ChoiceField(
        choices=zone_choices, help_text="Times on every page are shown in this zone."
    )

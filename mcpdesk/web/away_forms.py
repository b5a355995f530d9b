"""The form of the Away page."""

from typing import Any, cast

from django import forms

from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member, Permission
from mcpdesk.accounts.models import Absence, Membership
from mcpdesk.web.absences import Away, days_of


class AwayForm(forms.Form):
    """Who is away, from when to when, and who stands in; an admin picks who."""

    person = forms.TypedChoiceField(label="Who is away", coerce=int)
    first = forms.DateField(
        label="First day", widget=forms.DateInput({"type": "date"}, format="%Y-%m-%d")
    )
    last = forms.DateField(
        label="Last day", widget=forms.DateInput({"type": "date"}, format="%Y-%m-%d")
    )
    stand_in = forms.TypedChoiceField(
        label="Who stands in",
        coerce=int,
        help_text="What is put to one is put to both meanwhile. The two count once.",
    )

    def __init__(self, *args: Any, member: Member, absence: Absence | None = None, **more: Any):
        super().__init__(*args, **more)
        self._people = {one.user_id: one.user for one in _deciding(member)}
        choices = [(pk, str(user)) for pk, user in self._people.items()]
        self._field("stand_in").choices = [("", "Choose somebody"), *choices]
        self._user = absence.user if absence else None
        if self._user is None and not member.may(Permission.ADMINISTER):
            self._user = member.user
        if self._user is not None:
            del self.fields["person"]
        else:
            self._field("person").choices = choices
            self.initial.setdefault("person", member.user_id)
        if absence is not None:
            self.initial["first"], self.initial["last"] = days_of(absence)
            self.initial["stand_in"] = absence.stand_in_id

    def _field(self, name: str) -> forms.TypedChoiceField:
        return cast(forms.TypedChoiceField, self.fields[name])

    def away(self) -> Away:
        """The cleaned values, for the verbs of `absences`."""
        found = self.cleaned_data
        user = self._user or self._people[found["person"]]
        return Away(user, self._people[found["stand_in"]], found["first"], found["last"])


def _deciding(member: Member) -> list[Membership]:
    """Active members whose role decides, by name."""
    found = access.deciding_members(member.team_id)
    return list(found.select_related("user").order_by("user__name", "pk"))

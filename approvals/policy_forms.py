"""The forms of the policies page: a rule as fields, and a call to try the policy on."""

import json
from typing import Any

from django import forms

from approvals import policy
from approvals.models import Audience, Effect, PolicyRule
from mcpdesk.accounts.models import Membership, Role, Team
from tasks_monitor.models import Server

_CLAIMS = (
    ("readOnlyHint", "Claims to only read"),
    ("destructiveHint", "Claims to destroy"),
    ("idempotentHint", "Claims that repeating changes nothing"),
    ("openWorldHint", "Claims to reach other systems"),
)
_HINT_CHOICES = (("", "does not matter"), ("true", "says so"), ("false", "says the opposite"))
_STARTERS = (
    ("anyone", "Anybody"),
    ("role", "Members with one of the roles below"),
    ("people", "The people chosen below"),
    ("service", "A service (no person)"),
)
_OFF = {"autocomplete": "off", "spellcheck": "false"}
MAX_ARGUMENTS_CHARS = 20_000


def _boxes() -> forms.CheckboxSelectMultiple:
    return forms.CheckboxSelectMultiple(attrs={"class": "form-check-input"})


class RuleForm(forms.Form):
    """One rule. What is checked of its meaning is policy.read_rule()'s business."""

    name = forms.CharField(max_length=80, help_text="The log and the approvals name it.")
    server = forms.CharField(
        max_length=256, initial="*", help_text="Its name; * stands for any text."
    )
    tool = forms.CharField(max_length=256, initial="*", help_text="For example deploy_*.")
    starter = forms.ChoiceField(label="Started by", choices=_STARTERS, initial="anyone")
    starter_roles = forms.MultipleChoiceField(
        label="Roles", choices=Role.choices, required=False, widget=_boxes()
    )
    starter_people = forms.MultipleChoiceField(
        label="People who start it", required=False, widget=_boxes()
    )
    conditions = forms.CharField(
        label="Conditions on the arguments",
        required=False,
        max_length=4000,
        widget=forms.Textarea(attrs={"rows": 3, **_OFF, "class": "code"}),
        help_text="One a line, all must hold: a path, then equals, in, matches, greater, less or "
        "exists, then a value. For example: amount greater 500",
    )
    effect = forms.ChoiceField(label="What happens", choices=Effect.choices, initial=Effect.ASK)
    audience = forms.ChoiceField(
        label="Who decides", choices=Audience.choices, initial=Audience.APPROVERS
    )
    people = forms.MultipleChoiceField(label="People who decide", required=False, widget=_boxes())
    quorum = forms.IntegerField(label="How many must approve", min_value=1, max_value=20, initial=1)
    four_eyes = forms.BooleanField(
        label="Four eyes: whoever starts it cannot approve it", required=False, initial=True
    )
    deadline_min = forms.IntegerField(
        label="Deadline (minutes)",
        required=False,
        min_value=1,
        max_value=90 * 24 * 60,
        initial=7 * 24 * 60,
        help_text="Empty: none. Nothing is ever allowed by a deadline.",
    )
    at_deadline = forms.ChoiceField(
        label="At the deadline", choices=(("expire", "It expires"), ("deny", "It is denied"))
    )
    version = forms.IntegerField(widget=forms.HiddenInput, initial=0)

    def __init__(self, *args: Any, team: Team, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        people = [(str(pk), name) for pk, name in names_of(team).items()]
        for field in ("starter_people", "people"):
            self.fields[field].choices = people  # type: ignore[attr-defined]
        for hint, label in _CLAIMS:
            self.fields[hint] = forms.ChoiceField(
                label=label, choices=_HINT_CHOICES, required=False
            )

    @property
    def claim_fields(self) -> list[forms.BoundField]:
        return [self[hint] for hint, _ in _CLAIMS]

    def clean_conditions(self) -> list[dict[str, Any]]:
        lines = [line.strip() for line in self.cleaned_data["conditions"].splitlines()]
        return [_condition(line) for line in lines if line]

    def raw(self) -> dict[str, Any]:
        """The rule as policy.read_rule() takes it."""
        given = self.cleaned_data
        minutes = given["deadline_min"]
        return {
            "name": given["name"],
            "effect": given["effect"],
            "server": given["server"],
            "tool": given["tool"],
            "starter": _starter(given),
            "arguments": given["conditions"],
            "claims": {hint: given[hint] == "true" for hint, _ in _CLAIMS if given[hint]},
            "ask": {
                "audience": given["audience"],
                "people": _ids(given["people"]) if given["audience"] == "people" else [],
                "quorum": given["quorum"],
                "four_eyes": given["four_eyes"],
                "deadline_s": None if minutes is None else minutes * 60,
                "at_deadline": given["at_deadline"],
            },
        }


class TryForm(forms.Form):
    """A call that is not made."""

    server = forms.ChoiceField()
    tool = forms.CharField(max_length=256, widget=forms.TextInput(attrs=_OFF))
    starter = forms.ChoiceField(label="Started by")
    arguments = forms.CharField(
        label="Arguments (JSON)",
        initial="{}",
        max_length=MAX_ARGUMENTS_CHARS,
        widget=forms.Textarea(attrs={"rows": 3, **_OFF, "class": "code"}),
    )

    def __init__(self, *args: Any, team: Team, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = Server.objects.filter(team=team).order_by("name").values_list("name", flat=True)
        people = [(str(pk), name) for pk, name in names_of(team).items()]
        self.fields["server"].choices = [(name, name) for name in names]  # type: ignore[attr-defined]
        self.fields["starter"].choices = [*people, ("", "a service")]  # type: ignore[attr-defined]
        self.fields["starter"].required = False

    def clean_arguments(self) -> dict[str, Any]:
        try:
            value = json.loads(self.cleaned_data["arguments"])
        except (ValueError, RecursionError):
            raise forms.ValidationError("This is not JSON.") from None
        if not isinstance(value, dict):
            raise forms.ValidationError("The arguments are a JSON object: {…}.")
        return value


def initial_of(rule: PolicyRule) -> dict[str, Any]:
    """A stored rule as the form's fields. Raises policy.BadRule for one that cannot be read."""
    read = policy.read_rule(rule.as_rule())
    return {
        "name": rule.name,
        "server": read.server,
        "tool": read.tool,
        "starter": read.starter.kind.value,
        "starter_roles": list(read.starter.roles),
        "starter_people": [str(pk) for pk in read.starter.people],
        "conditions": "\n".join(_line(condition) for condition in read.conditions),
        **{hint: json.dumps(value) for hint, value in read.claims},
        "effect": read.effect.value,
        "audience": read.ask.audience.value,
        "people": [str(pk) for pk in read.ask.people],
        "quorum": read.ask.quorum,
        "four_eyes": read.ask.four_eyes,
        "deadline_min": None if read.ask.deadline_s is None else read.ask.deadline_s // 60,
        "at_deadline": read.ask.at_deadline.value,
        "version": rule.version,
    }


def names_of(team: Team) -> dict[int, str]:
    """The active members of a team, by id."""
    memberships = Membership.objects.filter(team=team, user__is_active=True)
    people = memberships.select_related("user").order_by("user__name", "pk")
    return {one.user_id: str(one.user) for one in people}


def _starter(given: dict[str, Any]) -> dict[str, Any]:
    kind = given["starter"]
    if kind == "role":
        return {"kind": kind, "roles": given["starter_roles"]}
    return (
        {"kind": kind, "people": _ids(given["starter_people"])}
        if kind == "people"
        else {"kind": kind}
    )


def _ids(chosen: list[str]) -> list[int]:
    return [int(one) for one in chosen]


def _condition(line: str) -> dict[str, Any]:
    """One line of the form: "path operator value"; what is no JSON value is text."""
    parts = line.split(None, 2)
    if len(parts) < 3:
        raise forms.ValidationError(f"“{line[:60]}”: write a path, a comparison and a value.")
    try:
        value = json.loads(parts[2])
    except (ValueError, RecursionError):
        value = parts[2]
    return {"path": parts[0], "op": parts[1], "value": value}


def _line(condition: policy.Condition) -> str:
    steps = condition.path
    if all(step and "." not in step and not step.startswith("/") for step in steps):
        path = ".".join(steps)
    else:
        path = "/" + "/".join(step.replace("~", "~0").replace("/", "~1") for step in steps)
    return f"{path} {condition.operator} {json.dumps(condition.value, ensure_ascii=False)}"

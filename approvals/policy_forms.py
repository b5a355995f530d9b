"""The forms of the policies page: a rule as fields, and a call to try the policy on."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from django import forms

from approvals import policy, policy_ask_form
from approvals.models import Effect, PolicyRule
from approvals.policy_ask_form import AskForm, QuestionsForm, boxes
from mcpdesk.accounts import tokens
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import ApiToken, Membership, Role, Team, User
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
#: Before the id of a token: a service would start it, with that token.
_SERVICE = "service-"
MAX_ARGUMENTS_CHARS = 20_000
MAX_CONDITIONS_CHARS = 20_000


@dataclass(frozen=True, slots=True)
class Initial:
    """What the three parts of the form begin with."""

    rule: dict[str, Any] = field(default_factory=dict)
    ask: dict[str, Any] = field(default_factory=dict)
    questions: dict[str, Any] = field(default_factory=dict)


class RuleForm(forms.Form):
    """One rule. What is checked of its meaning is policy.read_rule()'s business."""

    name = forms.CharField(max_length=80, help_text="The log and the approvals name it.")
    server = forms.CharField(
        max_length=256, initial="*", help_text="Its name; * stands for any text."
    )
    tool = forms.CharField(max_length=256, initial="*", help_text="For example deploy_*.")
    starter = forms.ChoiceField(label="Started by", choices=_STARTERS, initial="anyone")
    starter_roles = forms.MultipleChoiceField(
        label="Roles", choices=Role.choices, required=False, widget=boxes()
    )
    starter_people = forms.MultipleChoiceField(
        label="People who start it", required=False, widget=boxes()
    )
    conditions = forms.CharField(
        label="Conditions on the arguments",
        required=False,
        max_length=MAX_CONDITIONS_CHARS,
        widget=forms.Textarea(attrs={"rows": 3, **_OFF, "class": "code"}),
        help_text="One a line, all must hold: a path, then equals, in, matches, greater, less or "
        "exists, then a value. For example: amount greater 500",
    )
    effect = forms.ChoiceField(label="What happens", choices=Effect.choices, initial=Effect.ASK)
    repairs_need_two = forms.BooleanField(
        label="A repair of such a call takes a second person",
        required=False,
        help_text="When nobody knows what became of the call, an operator proposes what is to "
        "happen, and another one carries it out or refuses it.",
    )
    version = forms.IntegerField(widget=forms.HiddenInput, initial=0)

    def __init__(
        self, data: Any = None, *, team: Team, initial: "Initial | None" = None, **kwargs: Any
    ) -> None:
        initial = initial or Initial()
        super().__init__(data, initial=initial.rule, **kwargs)
        people = [(str(pk), name) for pk, name in names_of(team).items()]
        self.ask = AskForm(data, people=people, initial=initial.ask)
        self.questions = QuestionsForm(
            data, people=people, initial=initial.questions, prefix="questions"
        )
        self.fields["starter_people"].choices = people  # type: ignore[attr-defined]
        for hint, label in _CLAIMS:
            self.fields[hint] = forms.ChoiceField(
                label=label, choices=_HINT_CHOICES, required=False
            )

    def is_valid(self) -> bool:
        """All three parts are looked at, so that every mistake is marked at once."""
        return all([super().is_valid(), self.ask.is_valid(), self.questions.is_valid()])

    @property
    def has_mistakes(self) -> bool:
        """Whether any field of the three parts is marked."""
        return any(part.is_bound and part.errors for part in (self, self.ask, self.questions))

    @property
    def claim_fields(self) -> list[forms.BoundField]:
        return [self[hint] for hint, _ in _CLAIMS]

    def clean_conditions(self) -> list[dict[str, Any]]:
        lines = [line.strip() for line in self.cleaned_data["conditions"].splitlines()]
        return [_condition(line) for line in lines if line]

    def raw(self) -> dict[str, Any]:
        """The rule as policy.read_rule() takes it."""
        given = self.cleaned_data
        return {
            "name": given["name"],
            "effect": given["effect"],
            "server": given["server"],
            "tool": given["tool"],
            "starter": _starter(given),
            "arguments": given["conditions"],
            "claims": {hint: given[hint] == "true" for hint, _ in _CLAIMS if given[hint]},
            "ask": self.ask.raw(),
            "questions": self.questions.raw(),
            "repairs_need_two": given["repairs_need_two"],
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

    def __init__(self, *args: Any, member: Member, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        servers = Server.objects.filter(team=member.team_id).order_by("name")
        names = servers.values_list("name", flat=True)
        people = [(str(pk), name) for pk, name in names_of(member.team).items()]
        in_use = tokens.of_services(member).filter(revoked_at__isnull=True)
        self.fields["server"].choices = [(name, name) for name in names]  # type: ignore[attr-defined]
        self.fields["starter"].choices = [*people, *services(in_use)]  # type: ignore[attr-defined]
        self.fields["starter"].required = False

    def started_by(self) -> tuple[User | None, ApiToken | None]:
        """The person, or the token of the service; neither: a service that has none yet."""
        chosen: str = self.cleaned_data["starter"]
        if chosen.startswith(_SERVICE):
            return None, ApiToken.objects.get(pk=chosen.removeprefix(_SERVICE))
        return (User.objects.filter(pk=chosen).first() if chosen else None), None

    def clean_arguments(self) -> dict[str, Any]:
        try:
            value = json.loads(self.cleaned_data["arguments"])
        except (ValueError, RecursionError):
            raise forms.ValidationError("This is not JSON.") from None
        if not isinstance(value, dict):
            raise forms.ValidationError("The arguments are a JSON object: {…}.")
        return value


def services(found: Iterable[ApiToken]) -> list[tuple[str, str]]:
    """Choices of a service as the one who starts a call: by these tokens, and by none of them."""
    named = [(f"{_SERVICE}{one.pk}", str(one)) for one in found]
    return [*named, ("", "another service" if named else "a service")]


def initial_of(rule: PolicyRule) -> Initial:
    """A stored rule as the form's fields. One that cannot be read keeps its name alone."""
    try:
        read = policy.read_rule(rule.as_rule())
    except policy.BadRule:
        return Initial({"name": rule.name, "version": rule.version})
    return Initial(
        {
            "name": rule.name,
            "server": read.server,
            "tool": read.tool,
            "starter": read.starter.kind.value,
            "starter_roles": list(read.starter.roles),
            "starter_people": [str(pk) for pk in read.starter.people],
            "conditions": "\n".join(_line(condition) for condition in read.conditions),
            **{hint: json.dumps(value) for hint, value in read.claims},
            "effect": read.effect.value,
            "repairs_need_two": read.repairs_need_two,
            "version": rule.version,
        },
        policy_ask_form.initial_of(read.ask),
        policy_ask_form.initial_of(read.questions) if read.questions else {},
    )


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
    path, rest = _path(line)
    parts = rest.split(None, 1)
    if not path or len(parts) < 2:
        raise forms.ValidationError(f"“{line[:60]}”: write a path, a comparison and a value.")
    try:
        value = json.loads(parts[1])
    except (ValueError, RecursionError):
        value = parts[1]
    condition = {"path": path, "op": parts[0], "value": value}
    try:
        policy.read_condition(condition)
    except policy.BadRule as bad:
        raise forms.ValidationError(f"“{line[:60]}”: {bad.sentence}") from None
    return condition


def _path(line: str) -> tuple[str, str]:
    """The path and what follows it. One with spaces in it is written as a JSON string."""
    if line.startswith('"'):
        try:
            path, end = json.JSONDecoder().raw_decode(line)
        except ValueError:
            return "", ""
        return str(path), line[end:]
    path, _, rest = line.partition(" ")
    return path, rest


def _line(condition: policy.Condition) -> str:
    steps = condition.path
    if all(step and "." not in step and not step.startswith("/") for step in steps):
        path = ".".join(steps)
    else:
        path = "/" + "/".join(step.replace("~", "~0").replace("/", "~1") for step in steps)
    if path.startswith('"') or len(path.split()) != 1 or path != path.strip():
        path = json.dumps(path, ensure_ascii=False)
    return f"{path} {condition.operator} {json.dumps(condition.value, ensure_ascii=False)}"

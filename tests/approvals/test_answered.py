"""What was answered is read in the words of the form, and as it was sent; never a secret."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from approvals import answered, forms, question
from approvals.models import Approval, Choice
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Role
from tasks_monitor.models import Delivery, InputRequest
from tests.approvals.answers import propose
from tests.approvals.conftest import Ask, Join
from tests.factories import form_params

pytestmark = pytest.mark.django_db

REGIONS = [{"const": "eu-1", "title": "Europe"}, {"const": "us-1", "title": "America <b>"}]
FIELDS: dict[str, Any] = {
    "region": {"type": "string", "title": "Which region?", "oneOf": REGIONS},
    "copies": {"type": "array", "title": "Copies to", "items": {"anyOf": REGIONS}},
    "sure": {"type": "boolean", "title": "Are you sure?"},
    "until": {"type": "string", "format": "date", "title": "Until"},
    "at": {"type": "string", "format": "date-time", "title": "Begin at"},
    "n": {"type": "integer", "title": "How many"},
    "note": {"type": "string", "title": "Note"},
    "api_token": {"type": "string", "title": "Token"},
}
POSTED: dict[str, Any] = {
    "region": "eu-1",
    "copies": ["us-1", "eu-1"],
    "sure": "off",
    "until": "2026-12-24",
    "at": "2026-12-24T18:30",
    "n": "0",
    "note": "go\u202eahead",
    "api_token": "hunter2",
}


def _page(member: Member, approval: Approval) -> str:
    client = Client()
    client.force_login(member.user)
    return client.get(reverse("inbox_item", args=[approval.pk])).content.decode()


def _section(page: str) -> tuple[str, str]:
    """What was answered in words, and as it was sent."""
    section = page.partition('id="item-answer"')[2].partition("</section>")[0]
    words, _, sent = section.partition('id="answer-as-sent"')
    return words, sent


def test_an_answer_is_read_in_the_words_of_the_form(ask: Ask, approver: Member, join: Join) -> None:
    approval = ask(fields=FIELDS)
    propose(approval, approver, POSTED, gives_secrets=True)
    words, sent = _section(_page(join(Role.AUDITOR), approval))
    for title in ("Which region?", "Copies to", "Are you sure?", "Begin at", "How many", "Token"):
        assert title in words
    for said in (
        ">Europe<",
        ">America &lt;b&gt;, Europe<",
        ">no<",
        ">24 Dec 2026<",
        ">24 Dec 2026, 18:30 UTC<",
        ">0<",
        ">(not shown)<",
    ):
        assert said in words
    assert "eu-1" not in words
    assert "U+202E" in words
    assert all(name in sent for name in ("region", "eu-1", "2026-12-24T18:30:00Z", "false"))
    assert "hunter2" not in words + sent


def test_the_form_is_folded_once_there_is_an_answer(ask: Ask, approver: Member, join: Join) -> None:
    answered_one, refused = ask(fields=FIELDS), ask(fields=FIELDS)
    propose(answered_one, approver, POSTED, gives_secrets=True)
    propose(refused, approver, choice=Choice.DECLINE)
    auditor = join(Role.AUDITOR)
    _, fold, form = _page(auditor, answered_one).partition(
        '<details class="fold item-note" id="form-'
    )
    assert fold
    assert 'id="item-fields"' in form
    assert 'id="form-as-asked"' not in _page(auditor, refused)


def test_a_plain_yes_and_a_refusal_have_no_answer_to_read(
    ask: Ask, approver: Member, join: Join
) -> None:
    yes, no = ask(), ask(fields=FIELDS)
    propose(yes, approver)
    propose(no, approver, choice=Choice.DECLINE)
    auditor = join(Role.AUDITOR)
    assert "What was answered" not in _page(auditor, yes) + _page(auditor, no)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("region", "mars-1", "mars-1"),  # no choice of the form
        ("at", "2026-12-24T18:30:00.25+02:00", "2026-12-24T18:30:00.25+02:00"),
        ("at", "2026-12-24T18:30:05+02:00", "24 Dec 2026, 16:30:05 UTC"),
        ("sure", True, "yes"),
        ("n", 2.0, "2"),
        ("note", None, "(nothing)"),
        ("note", "", "(nothing)"),
        ("copies", [], "(nothing)"),
        ("api_token", "hunter2", "(not shown)"),
    ],
)
def test_a_value_that_the_form_could_not_show_stands_as_it_was_sent(
    name: str, value: Any, words: str
) -> None:
    asked = question.read(InputRequest(params=form_params("?", **FIELDS), method="x", problem=""))
    [control] = [one for one in forms.controls(asked, {}, {}) if one.field.name == name]
    assert answered.in_words(control.field, value) == words


def test_of_a_form_that_cannot_be_read_any_more_no_value_is_shown() -> None:
    asked = question.Question(question.Shape.UNSHOWN, problem="It nests too deeply.")
    delivery = Delivery(response={"action": "accept", "content": {"api_token": "hunter2"}})
    found = answered.of(asked, delivery)
    assert found is not None
    assert found.fields == []
    assert [(row.name, row.text) for row in found.sent] == [("api_token", answered.HIDDEN)]

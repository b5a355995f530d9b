"""Who may read a question and not answer it sees its form, and what stands proposed in it."""

import pytest
from django.test import Client
from django.urls import reverse

from approvals.models import Approval
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Role, Team
from tests.approvals.answers import confirm, propose, questions_rule
from tests.approvals.conftest import Ask, Join

pytestmark = pytest.mark.django_db

FIELDS = {
    "region": {
        "type": "string",
        "title": "Which <region>?",
        "description": "Where it runs",
        "oneOf": [{"const": "eu-1", "title": "Europe"}, {"const": "us-1", "title": "America"}],
        "default": "us-1",
    },
    "count": {"type": "integer", "title": "How many", "minimum": 2},
    "password": {"type": "string", "title": "Password of the cluster"},
}
FORM = 'id="item-fields"'


def _page(member: Member, approval: Approval) -> str:
    client = Client()
    client.force_login(member.user)
    return client.get(reverse("inbox_item", args=[approval.pk])).content.decode()


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.AUDITOR])
def test_the_form_stands_there_to_be_read_by_who_may_not_fill_it_in(
    ask: Ask, join: Join, role: Role
) -> None:
    page = _page(join(role), ask(fields=FIELDS))
    for words in ("Which &lt;region&gt;?", "Where it runs", "Europe", "America"):
        assert words in page
    assert "the server suggests America" in page
    assert "At least 2." in page
    assert 'id="item-form"' not in page
    assert 'name="field-0"' not in page


def test_whoever_fills_it_in_sees_it_once(ask: Ask, approver: Member) -> None:
    assert FORM not in _page(approver, ask(fields=FIELDS))


def test_whom_the_question_is_hidden_from_sees_no_form(ask: Ask, join: Join) -> None:
    page = _page(join(Role.VIEWER), ask(fields=FIELDS))
    assert FORM not in page
    assert "Where it runs" not in page


def test_the_requester_reads_the_form_that_others_fill_in(ask: Ask, operator: Member) -> None:
    assert "Password of the cluster" in _page(operator, ask(fields=FIELDS))


def test_what_stands_proposed_is_read_in_the_words_of_the_form_without_secrets(
    ask: Ask, team: Team, approver: Member, operator: Member
) -> None:
    questions_rule(team)
    approval = ask(fields=FIELDS)
    answer = {"region": "eu-1", "count": "3", "password": "hunter2"}
    propose(approval, approver, answer, gives_secrets=True)
    page = _page(operator, approval)
    assert page.count(f"{approver.user.name} proposes</span>") == 3
    assert '<span class="typed-value">Europe</span>' in page
    assert '<span class="typed-value">3</span>' in page
    assert '<span class="typed-value">(not shown)</span>' in page
    assert "hunter2" not in page


def test_afterwards_the_fields_stand_beside_the_answer_and_nothing_is_proposed_any_more(
    ask: Ask, team: Team, join: Join, approver: Member
) -> None:
    questions_rule(team)
    approval, second = ask(fields={"count": FIELDS["count"]}), join()
    propose(approval, approver, {"count": "3"})
    confirm(approval, second)
    for member in (approver, second, join(Role.AUDITOR)):
        page = _page(member, approval)
        assert "How many" in page
        assert "proposes</span>" not in page
        assert "What was answered" in page


def test_a_question_without_fields_has_no_form_to_read(ask: Ask, join: Join) -> None:
    assert FORM not in _page(join(Role.AUDITOR), ask())

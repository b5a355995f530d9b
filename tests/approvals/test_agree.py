"""Several people agree to one answer: what is sent, what counts again, what is refused."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from approvals import binding, intake, proposal, question, schema_form, selectors, votes
from approvals.agree import NOT_PROPOSED, SAID_BEFORE
from approvals.decide import CONFIRM_SECRETS, FOUR_EYES, NO_POLICY, NOT_YOURS
from approvals.models import Approval, ApprovalState, Choice, Vote
from approvals.outcomes import AlreadyAnswered, Counted, Decided, Lost, Refused
from approvals.policy import Waiting
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Membership, Role, Team, User
from mcpdesk.audit.models import Event
from tasks_monitor.models import Delivery, InputRequest
from tests.approvals.answers import LATER, confirm, propose, questions_rule, token
from tests.approvals.attacks import browser
from tests.approvals.conftest import Ask, Join
from tests.factories import NOW, AbsenceFactory, url_params

pytestmark = pytest.mark.django_db

NAME = {"name": {"type": "string"}}
API = {"name": "api"}


@pytest.fixture
def two(team: Team) -> None:
    """Every question of the team needs two people who did not start it."""
    questions_rule(team)


@pytest.fixture
def second(join: Join) -> Member:
    return join()


def _state(approval: Approval) -> str:
    approval.refresh_from_db()
    return approval.state


# --- the effect


def test_the_first_proposes_and_nothing_is_sent(ask: Ask, two: None, approver: Member) -> None:
    approval = ask(fields=NAME)
    outcome = propose(approval, approver, API)
    assert isinstance(outcome, Counted)
    assert (outcome.came_to, outcome.proposed) == (Waiting(1, 2), True)
    assert _state(approval) == ApprovalState.OPEN
    assert approval.proposal == {"action": "accept", "content": API}
    assert (approval.proposed_by, approval.version) == (approver.user, 2)
    assert not Delivery.objects.exists()


def test_the_second_confirms_and_exactly_that_is_sent(
    ask: Ask, two: None, approver: Member, second: Member
) -> None:
    approval = ask(fields=NAME)
    propose(approval, approver, API)
    assert isinstance(confirm(approval, second), Decided)
    assert Delivery.objects.get().response == {"action": "accept", "content": API}
    assert (_state(approval), approval.decided_by) == (ApprovalState.DECIDED, second.user)


def test_a_plain_question_and_a_link_are_agreed_to_by_two_as_well(
    ask: Ask, two: None, approver: Member, second: Member
) -> None:
    for number, params in enumerate((None, url_params("https://pay.example.com/x"))):
        approval = ask(key=f"k{number}", params=params)
        assert isinstance(propose(approval, approver), Counted)
        assert isinstance(confirm(approval, second), Decided)
    assert [one.action for one in Delivery.objects.order_by("pk")] == ["accept", "accept"]


def test_where_one_is_enough_nothing_is_proposed(ask: Ask, approver: Member) -> None:
    approval = ask(fields=NAME)
    assert isinstance(propose(approval, approver, API), Decided)
    assert approval.proposal is None
    assert (_state(approval), approval.version) == (ApprovalState.DECIDED, 1)


@pytest.mark.parametrize("choice", [Choice.DECLINE, Choice.CANCEL])
def test_one_who_says_no_decides_at_once_also_after_saying_yes(
    ask: Ask, two: None, approver: Member, second: Member, choice: Choice
) -> None:
    fresh, proposed = ask(key="a"), ask(key="b")
    propose(proposed, approver)
    assert isinstance(propose(fresh, second, choice=choice), Decided)
    assert isinstance(propose(proposed, approver, choice=choice), Decided)
    assert {one.action for one in Delivery.objects.all()} == {choice.value}


def test_the_log_says_who_proposed_and_how_many_agree_and_never_the_answer(
    ask: Ask, two: None, approver: Member, second: Member
) -> None:
    approval = ask(fields=NAME)
    propose(approval, approver, {"name": "SECRET-WORD"})
    confirm(approval, second)
    events = Event.objects.filter(approval_id=approval.pk).order_by("id")
    assert [(event.kind, event.actor) for event in events] == [
        ("approval.opened", None),
        ("approval.proposed", approver.user),
        ("approval.voted", approver.user),
        ("approval.progress", approver.user),
        ("approval.voted", second.user),
        ("approval.decided", second.user),
    ]
    assert not any("SECRET-WORD" in str(event.data) for event in Event.objects.all())


def test_who_agreed_no_longer_has_it_in_the_list_until_another_answer_is_proposed(
    ask: Ask, two: None, approver: Member, second: Member
) -> None:
    approval = ask(fields=NAME)
    propose(approval, approver, API)
    assert selectors.badge_count(approver) == 0
    assert selectors.badge_count(second) == 1
    propose(approval, second, {"name": "web"}, proposes=True)
    assert (selectors.badge_count(approver), selectors.badge_count(second)) == (1, 0)


# --- another answer begins the count again


def test_whoever_changes_it_starts_the_count_again(
    ask: Ask, two: None, approver: Member, second: Member
) -> None:
    approval = ask(fields=NAME)
    propose(approval, approver, API)
    outcome = propose(approval, second, {"name": "web"}, proposes=True)
    assert isinstance(outcome, Counted)
    assert (outcome.came_to, outcome.proposed) == (Waiting(1, 2), True)
    assert not Delivery.objects.exists()
    assert isinstance(confirm(approval, approver), Decided)
    assert Delivery.objects.get().response["content"] == {"name": "web"}


def test_proposing_what_is_proposed_already_confirms_it(
    ask: Ask, two: None, approver: Member, second: Member
) -> None:
    approval = ask(fields=NAME)
    propose(approval, approver, API)
    assert isinstance(propose(approval, second, API, proposes=True), Decided)


def test_confirming_another_answer_is_refused_field_by_field_and_changes_nothing(
    ask: Ask, two: None, approver: Member, second: Member
) -> None:
    approval = ask(fields={**NAME, "size": {"type": "integer"}})
    propose(approval, approver, {"name": "api", "size": "3"})
    outcome = confirm(approval, second, fields={"name": "web"})
    said = f"This is not what {approver.user.name} proposed."
    assert outcome == Refused(NOT_PROPOSED, {"name": said})
    approval.refresh_from_db()
    assert approval.proposal == {"action": "accept", "content": {"name": "api", "size": 3}}
    assert votes.progress(approval, LATER).count == 1


def test_a_form_from_before_the_proposal_confirms_nothing_even_with_the_same_words(
    ask: Ask, two: None, approver: Member, second: Member
) -> None:
    approval = ask(fields=NAME)
    before = token(approval, second)
    propose(approval, approver, API)
    assert propose(approval, second, API, token=before) == Refused(binding.CHANGED)


def test_a_form_that_showed_another_proposal_confirms_nothing(
    ask: Ask, two: None, approver: Member, second: Member
) -> None:
    approval = ask(fields=NAME)
    propose(approval, approver, API)
    proof = token(approval, second)
    # whatever might change it without a new version
    approval.refresh_from_db()
    approval.proposal = {"action": "accept", "content": {"name": "all"}}
    approval.save()
    outcome = propose(approval, second, {"name": "all"}, token=proof)
    assert outcome == Refused(binding.CHANGED)


# --- who counts


def test_a_person_counts_once(ask: Ask, two: None, approver: Member) -> None:
    approval = ask(fields=NAME)
    propose(approval, approver, API)
    assert confirm(approval, approver) == Refused(SAID_BEFORE)
    assert Vote.objects.count() == 1


def test_proposing_again_oneself_is_still_one_person(ask: Ask, two: None, approver: Member) -> None:
    approval = ask(fields=NAME)
    propose(approval, approver, API)
    outcome = propose(approval, approver, {"name": "web"}, proposes=True)
    assert isinstance(outcome, Counted)
    assert outcome.came_to == Waiting(1, 2)
    outcome = propose(approval, approver, API, proposes=True)
    assert isinstance(outcome, Counted)
    assert outcome.came_to == Waiting(1, 2)


def test_whoever_started_it_neither_proposes_nor_confirms(
    ask: Ask, two: None, approver: Member, operator: Member
) -> None:
    approval = ask(fields=NAME)
    Membership.objects.filter(user=operator.user).update(role=Role.ADMIN)
    assert propose(approval, operator, API) == Refused(FOUR_EYES)
    propose(approval, approver, API)
    assert confirm(approval, operator) == Refused(FOUR_EYES)
    assert propose(approval, operator, choice=Choice.DECLINE) == Refused(FOUR_EYES)


def test_a_vote_of_somebody_who_left_counts_no_more(
    ask: Ask, two: None, approver: Member, second: Member, join: Join
) -> None:
    approval = ask(fields=NAME)
    propose(approval, approver, API)
    User.objects.filter(pk=approver.user_id).update(is_active=False)
    outcome = confirm(approval, second)
    assert isinstance(outcome, Counted)
    assert (outcome.came_to, outcome.proposed) == (Waiting(1, 2), False)
    assert isinstance(confirm(approval, join()), Decided)


def test_a_person_and_their_stand_in_count_once_together(
    ask: Ask, two: None, approver: Member, join: Join, team: Team
) -> None:
    stand_in = join(Role.OPERATOR)
    AbsenceFactory(team=team, user=approver.user, stand_in=stand_in.user)
    approval = ask(fields=NAME)
    propose(approval, approver, API)
    outcome = confirm(approval, stand_in)
    assert isinstance(outcome, Counted)
    assert outcome.came_to == Waiting(1, 2)
    vote = Vote.objects.get(user=stand_in.user)
    assert vote.acted_for == approver.user
    event = Event.objects.get(kind="approval.voted_for")
    assert event.data == {
        "choice": "accept",
        "person": approver.user.name,
        "person_id": approver.user_id,
    }
    assert isinstance(confirm(approval, join()), Decided)


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR, Role.AUDITOR])
def test_a_role_that_it_was_not_put_to_neither_proposes_nor_confirms(
    ask: Ask, two: None, approver: Member, join: Join, role: Role
) -> None:
    approval, other = ask(fields=NAME), join(role)
    assert propose(approval, other, API) == Refused(NOT_YOURS)
    propose(approval, approver, API)
    assert confirm(approval, other) == Refused(NOT_YOURS)


def test_a_policy_that_cannot_be_read_lets_nobody_agree_and_everybody_decline(
    ask: Ask, two: None, approver: Member
) -> None:
    approval = ask(fields=NAME)
    Approval.objects.update(policy={"ask": {"quorum": "two"}})
    assert browser(approver).get(f"/inbox/{approval.pk}/").status_code == 200
    assert propose(approval, approver, API) == Refused(NO_POLICY)
    assert isinstance(propose(approval, approver, choice=Choice.DECLINE), Decided)


# --- being late


def test_who_comes_after_the_last_one_is_told_who_that_was(
    ask: Ask, two: None, approver: Member, second: Member, join: Join
) -> None:
    approval, late = ask(), join()
    propose(approval, approver)
    confirm(approval, second)
    assert confirm(approval, late) == Lost(second.user.name, Choice.ACCEPT, LATER)
    assert confirm(approval, second) == AlreadyAnswered(Choice.ACCEPT, LATER)
    assert Delivery.objects.count() == 1


def test_a_question_that_changes_carries_no_agreement_over(
    ask: Ask, two: None, approver: Member, second: Member
) -> None:
    approval = ask(fields=NAME)
    propose(approval, approver, API)
    InputRequest.objects.update(version=2)
    intake.take_in(approval.operation_id, now=LATER)
    outcome = confirm(approval, second)
    assert isinstance(outcome, Counted)
    assert outcome.came_to == Waiting(1, 2)


def test_nobody_confirms_after_the_deadline(
    ask: Ask, team: Team, approver: Member, second: Member
) -> None:
    questions_rule(team, deadline_s=600)
    approval = ask()
    propose(approval, approver)
    late = NOW + timedelta(seconds=600)
    assert isinstance(confirm(approval, second, now=late), Refused)
    assert not Delivery.objects.exists()


# --- secrets, and what a form cannot show


def test_a_secret_is_typed_again_by_each_and_has_to_be_the_same(
    ask: Ask, two: None, approver: Member, second: Member
) -> None:
    approval = ask(fields={"password": {"type": "string"}, **NAME})
    given = {"password": "hunter2", "name": "api"}
    assert propose(approval, approver, given) == Refused(CONFIRM_SECRETS)
    propose(approval, approver, given, gives_secrets=True)
    shown = proposal.posted(
        Approval.objects.get(pk=approval.pk), question.read(approval.input_request)
    )
    assert shown == {"name": "api"}
    other = confirm(approval, second, fields={"password": "hunter3"}, gives_secrets=True)
    said = f"This is not what {approver.user.name} entered."
    assert other == Refused(NOT_PROPOSED, {"password": said})
    same = {"password": "hunter2"}
    assert isinstance(confirm(approval, second, fields=same, gives_secrets=True), Decided)


def test_what_a_form_would_show_otherwise_is_not_proposed(
    ask: Ask, two: None, approver: Member, second: Member
) -> None:
    approval = ask(fields={"at": {"type": "string", "format": "date-time"}})
    for text in ("2026-12-01T10:00:00+02:00", "2026-12-01T10:00:00.5Z"):
        refused = propose(approval, approver, {"at": text})
        assert isinstance(refused, Refused)
        assert set(refused.errors) == {"at"}
    propose(approval, approver, {"at": "2026-12-01T10:00"})
    assert isinstance(confirm(approval, second), Decided)
    assert Delivery.objects.get().response["content"] == {"at": "2026-12-01T10:00:00Z"}


_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "lines": {"type": "string", "maxLength": 4000},
        "day": {"type": "string", "format": "date"},
        "count": {"type": "integer"},
        "share": {"type": "number"},
        "sure": {"type": "boolean"},
        "wanted": {"type": "boolean", "default": True},
        "one": {"type": "string", "enum": ["a", "b", "c"]},
        "some": {"type": "array", "items": {"type": "string", "enum": ["x", "y", "z"]}},
        "maybe": {"type": ["string", "null"]},
    },
}


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "text": st.text(max_size=20),
            "lines": st.text("ab \n\r\t", max_size=20),
            "day": st.dates().map(str),
            "count": st.integers(-(10**20), 10**20).map(str),
            "share": st.floats(-1e300, 1e300).map(repr),
            "sure": st.sampled_from(["on", "off", ""]),
            "wanted": st.sampled_from(["on", "off"]),
            "one": st.sampled_from(["a", "b", "c", ""]),
            "some": st.lists(st.sampled_from(["x", "y", "z"]), unique=True),
            "maybe": st.text(max_size=5),
        },
    )
)
def test_what_is_shown_to_confirm_posts_exactly_what_was_proposed(typed: dict[str, Any]) -> None:
    made = schema_form.answer(_SCHEMA, typed)
    fields = schema_form.fields(_SCHEMA)
    assert isinstance(fields, tuple)
    if not isinstance(made, schema_form.Answer):
        return
    posted = {one.name: schema_form.posted(one, made.content.get(one.name)) for one in fields}
    assert schema_form.answer(_SCHEMA, posted) == made

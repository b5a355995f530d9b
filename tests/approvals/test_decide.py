"""Decide: the effect, every refusal, every role, the repeat."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from approvals import binding, drafts, intake, question
from approvals.decide import CONFIRM_SECRETS, NOT_YOURS, OVERDUE, Said, decide
from approvals.models import Approval, ApprovalState, Audience, Choice, Vote
from approvals.outcomes import AlreadyAnswered, Decided, Ended, Lost, Missing, Outcome, Refused
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Membership, Role, User
from mcpdesk.audit.models import Event
from tasks_monitor.models import Answerers, Delivery, InputRequest, InputRequestState, Operation
from tasks_monitor.states import State
from tests.approvals.conftest import Ask, Join
from tests.factories import NOW, ServerFactory, url_params

pytestmark = pytest.mark.django_db

LATER = NOW + timedelta(minutes=5)


def _say(
    approval: Approval,
    member: Member,
    choice: Choice = Choice.ACCEPT,
    submitted: dict[str, Any] | None = None,
    **more: Any,
) -> Outcome:
    token = more.pop("token", None) or _token(approval, member)
    now = more.pop("now", LATER)
    said = Said(choice, token, submitted or {}, **more)
    return decide(approval.pk, member=member, said=said, now=now)


def _token(approval: Approval, member: Member) -> str:
    shown = Approval.objects.get(pk=approval.pk)
    return binding.bind(shown, user_id=member.user_id, now=NOW)


def _nothing_was_written(approval: Approval) -> bool:
    return not (Vote.objects.exists() or Delivery.objects.exists()) and (
        Approval.objects.get(pk=approval.pk).state == ApprovalState.OPEN
    )


# --- the effect


def test_accepting_saves_the_answer_and_who_gave_it(ask: Ask, approver: Member) -> None:
    approval = ask(fields={"name": {"type": "string"}})
    outcome = _say(approval, approver, submitted={"name": "api"})
    assert isinstance(outcome, Decided)
    approval.refresh_from_db()
    assert approval.state == ApprovalState.DECIDED
    assert (approval.decision, approval.decided_by, approval.decided_at) == (
        Choice.ACCEPT,
        approver.user,
        LATER,
    )
    delivery = Delivery.objects.get()
    assert delivery.response == {"action": "accept", "content": {"name": "api"}}
    assert delivery.answered_by == approver.user
    vote = Vote.objects.get()
    assert (vote.user, vote.choice, vote.version) == (approver.user, Choice.ACCEPT, 1)


@pytest.mark.parametrize("choice", [Choice.DECLINE, Choice.CANCEL])
def test_saying_no_sends_no_content(ask: Ask, approver: Member, choice: Choice) -> None:
    approval = ask(fields={"name": {"type": "string"}})
    assert isinstance(_say(approval, approver, choice, {"name": "api"}), Decided)
    assert Delivery.objects.get().response == {"action": choice.value}


def test_accepting_a_plain_question_sends_empty_content(ask: Ask, approver: Member) -> None:
    assert isinstance(_say(ask(), approver), Decided)
    assert Delivery.objects.get().response == {"action": "accept", "content": {}}


def test_agreeing_to_open_a_link_is_sent_at_once_and_without_content(
    ask: Ask, approver: Member
) -> None:
    approval = ask(params=url_params("https://pay.example.com/x"))
    assert isinstance(_say(approval, approver), Decided)
    assert Delivery.objects.get().response == {"action": "accept"}


def test_the_log_says_who_decided_what_and_not_the_answer(ask: Ask, approver: Member) -> None:
    approval = ask(fields={"name": {"type": "string"}})
    _say(approval, approver, submitted={"name": "SECRET-WORD"})
    events = Event.objects.filter(approval_id=approval.pk).order_by("id")
    assert [event.kind for event in events] == [
        "approval.opened",
        "approval.voted",
        "approval.decided",
    ]
    assert events[1].actor == approver.user
    assert not any("SECRET-WORD" in str(event.data) for event in Event.objects.all())


def test_the_engine_has_the_answer_to_deliver(ask: Ask, approver: Member) -> None:
    approval = ask()
    _say(approval, approver)
    approval.input_request.refresh_from_db()
    approval.operation.refresh_from_db()
    assert approval.input_request.state == InputRequestState.ANSWERED
    assert approval.operation.state == State.READY
    assert approval.operation.due_at == LATER


def test_the_decision_stands_when_the_answered_question_is_taken_in(
    ask: Ask, approver: Member
) -> None:
    approval = ask()
    _say(approval, approver)
    intake.take_in(approval.operation_id, now=LATER)
    approval.refresh_from_db()
    assert approval.state == ApprovalState.DECIDED


def test_different_questions_of_one_operation_are_answered_by_different_people(
    ask: Ask, approver: Member, join: Join
) -> None:
    first = ask(key="a")
    second = ask(key="b", operation=first.operation)
    assert isinstance(_say(first, approver), Decided)
    assert isinstance(_say(second, join()), Decided)
    assert Operation.objects.get().state == State.READY


# --- the repeat, and being late


def test_the_same_post_again_says_so_and_sends_nothing(ask: Ask, approver: Member) -> None:
    approval = ask()
    token = _token(approval, approver)
    assert isinstance(_say(approval, approver, token=token), Decided)
    again = _say(approval, approver, token=token)
    assert again == AlreadyAnswered(Choice.ACCEPT, LATER)
    assert Delivery.objects.count() == Vote.objects.count() == 1


def test_who_comes_second_is_told_who_was_first(ask: Ask, approver: Member, join: Join) -> None:
    approval, second = ask(), join()
    token = _token(approval, second)
    _say(approval, approver, Choice.DECLINE)
    outcome = _say(approval, second, token=token)
    assert outcome == Lost(approver.user.name, Choice.DECLINE, LATER)
    assert outcome.sentence.startswith(f"{approver.user.name} was first and declined this.")
    assert Delivery.objects.get().action == "decline"


@pytest.mark.parametrize(
    "state",
    [
        InputRequestState.WITHDRAWN,
        InputRequestState.SUPERSEDED,
        InputRequestState.EXPIRED,
        InputRequestState.CLOSED,
    ],
)
def test_an_answer_to_a_question_that_ended_is_told_how_it_ended(
    ask: Ask, approver: Member, state: InputRequestState
) -> None:
    approval = ask()
    token = _token(approval, approver)
    InputRequest.objects.update(state=state, version=2)
    intake.take_in(approval.operation_id, now=NOW)
    outcome = _say(approval, approver, token=token)
    assert outcome == Ended(ApprovalState(state.value))
    assert not Delivery.objects.exists()


def test_a_question_that_closed_before_the_inbox_knew_is_refused_by_the_engine(
    ask: Ask, approver: Member
) -> None:
    approval = ask()
    InputRequest.objects.update(state=InputRequestState.WITHDRAWN)
    outcome = _say(approval, approver)
    assert isinstance(outcome, Refused)
    assert "no longer open" in outcome.sentence
    assert _nothing_was_written(approval)


# --- the binding


def test_a_forged_token_is_refused(ask: Ask, approver: Member) -> None:
    approval = ask()
    for token in ("", "nonsense", _token(approval, approver) + "x", "W10:abc"):
        assert _say(approval, approver, token=token or " ") == Refused(binding.FORGED)
    assert _nothing_was_written(approval)


def test_another_persons_token_is_refused(ask: Ask, approver: Member, join: Join) -> None:
    approval = ask()
    outcome = _say(approval, approver, token=_token(approval, join()))
    assert outcome == Refused(binding.FOREIGN)
    assert _nothing_was_written(approval)


def test_another_items_token_is_refused(ask: Ask, approver: Member) -> None:
    approval = ask()
    outcome = _say(approval, approver, token=_token(ask(), approver))
    assert outcome == Refused(binding.OTHER_ITEM)


def test_a_form_of_yesterday_is_refused(ask: Ask, approver: Member) -> None:
    approval = ask()
    late = NOW + binding.MAX_AGE + timedelta(seconds=1)
    assert _say(approval, approver, now=late) == Refused(binding.TOO_OLD)


def test_a_clock_that_is_a_little_behind_takes_the_form_and_one_far_behind_does_not(
    ask: Ask, approver: Member
) -> None:
    approval = ask()
    early = NOW - binding.MAX_SKEW - timedelta(microseconds=1)
    assert _say(approval, approver, now=early) == Refused(binding.TOO_OLD)
    assert isinstance(_say(approval, approver, now=NOW - binding.MAX_SKEW), Decided)


def _new_version(approval: Approval) -> None:
    InputRequest.objects.update(version=2)
    intake.take_in(approval.operation_id, now=NOW)


def _other_question(approval: Approval) -> None:
    request = approval.input_request
    request.params = {**request.params, "message": "Delete everything?"}
    request.save()


def _other_arguments(approval: Approval) -> None:
    approval.operation.payload.arguments = {"project": "all"}
    approval.operation.payload.save()


def _other_server(approval: Approval) -> None:
    approval.operation.server.url = "https://elsewhere.example/mcp"
    approval.operation.server.save()


def _other_identity(approval: Approval) -> None:
    approval.operation.server.identity = "root"
    approval.operation.server.save()


@pytest.mark.parametrize(
    "change", [_new_version, _other_question, _other_arguments, _other_server, _other_identity]
)
def test_whatever_changed_after_it_was_shown_is_not_approved(
    ask: Ask, approver: Member, change: Any
) -> None:
    approval = ask()
    token = _token(approval, approver)
    change(approval)
    assert _say(approval, approver, token=token) == Refused(binding.CHANGED)
    assert _nothing_was_written(approval)


def test_keys_in_another_order_are_the_same_question(ask: Ask, approver: Member) -> None:
    approval = ask(arguments={"a": 1, "b": 2})
    token = _token(approval, approver)
    approval.operation.payload.arguments = {"b": 2, "a": 1}
    approval.operation.payload.save()
    assert isinstance(_say(approval, approver, token=token), Decided)


# --- who may


@pytest.mark.parametrize(
    ("role", "questions_to", "may"),
    [
        (Role.VIEWER, Answerers.APPROVERS, False),
        (Role.APPROVER, Answerers.APPROVERS, True),
        (Role.OPERATOR, Answerers.APPROVERS, False),
        (Role.AUDITOR, Answerers.APPROVERS, False),
        (Role.ADMIN, Answerers.APPROVERS, True),
        (Role.APPROVER, Answerers.REQUESTER, False),
        (Role.OPERATOR, Answerers.REQUESTER, False),
        (Role.ADMIN, Answerers.REQUESTER, False),
    ],
)
def test_only_those_it_was_put_to_decide(
    ask: Ask, join: Join, role: Role, questions_to: Answerers, may: bool
) -> None:
    approval = ask(questions_to=questions_to)
    outcome = _say(approval, join(role))
    assert isinstance(outcome, Decided) if may else outcome == Refused(NOT_YOURS)


def test_whoever_started_it_answers_what_was_put_to_them(ask: Ask, operator: Member) -> None:
    assert isinstance(_say(ask(questions_to=Answerers.REQUESTER), operator), Decided)


def test_named_people_answer_and_nobody_else(ask: Ask, join: Join, approver: Member) -> None:
    approval, named = ask(), join(Role.OPERATOR)
    approval.audience = Audience.PEOPLE
    approval.save()
    approval.people.add(named.user)
    assert _say(approval, approver) == Refused(NOT_YOURS)
    assert isinstance(_say(approval, named), Decided)


def test_a_superuser_gets_no_way_around(ask: Ask, join: Join) -> None:
    viewer = join(Role.VIEWER)
    User.objects.filter(pk=viewer.user_id).update(is_superuser=True, is_staff=True)
    assert _say(ask(), viewer) == Refused(NOT_YOURS)


def test_a_role_taken_away_between_page_and_answer_counts(ask: Ask, approver: Member) -> None:
    approval = ask()
    token = _token(approval, approver)
    Membership.objects.filter(user=approver.user).update(role=Role.VIEWER)
    assert _say(approval, approver, token=token) == Refused(NOT_YOURS)
    assert _nothing_was_written(approval)


def test_a_membership_that_ended_knows_of_nothing(ask: Ask, approver: Member) -> None:
    approval = ask()
    token = _token(approval, approver)
    Membership.objects.filter(user=approver.user).delete()
    assert _say(approval, approver, token=token) == Missing()


def test_a_deactivated_person_knows_of_nothing(ask: Ask, approver: Member) -> None:
    approval = ask()
    token = _token(approval, approver)
    User.objects.filter(pk=approver.user_id).update(is_active=False)
    assert _say(approval, approver, token=token) == Missing()


def test_another_teams_item_does_not_exist(ask: Ask, join: Join) -> None:
    stranger = join(Role.ADMIN, team=ServerFactory().team)
    approval = ask()
    assert _say(approval, stranger) == Missing()
    said = Said(Choice.ACCEPT, "token")
    assert decide(uuid4(), member=stranger, said=said, now=NOW) == Missing()


# --- what may be said


def test_content_that_breaks_the_schema_is_refused_field_by_field(
    ask: Ask, approver: Member
) -> None:
    approval = ask(fields={"size": {"type": "integer", "minimum": 0}, "name": {"type": "string"}})
    outcome = _say(approval, approver, submitted={"size": "-1", "name": "api"})
    assert isinstance(outcome, Refused)
    assert set(outcome.errors) == {"size"}
    assert _nothing_was_written(approval)


def test_a_question_this_desk_does_not_offer_takes_no_answer(ask: Ask, approver: Member) -> None:
    approval = ask(method="roots/list", problem="The server asks for folders.")
    for choice in Choice:
        outcome = _say(approval, approver, choice)
        assert outcome == Refused("The server asks for folders. Nothing was sent.")
    assert _nothing_was_written(approval)


def test_a_question_that_cannot_be_shown_can_only_be_refused(ask: Ask, approver: Member) -> None:
    approval = ask(fields={"nested": {"type": "object"}})
    assert isinstance(_say(approval, approver), Refused)
    assert _nothing_was_written(approval)
    assert isinstance(_say(approval, approver, Choice.DECLINE), Decided)


def test_a_link_that_cannot_be_opened_is_not_agreed_to(ask: Ask, approver: Member) -> None:
    approval = ask(params=url_params("ftp://pay.example.com/x"))
    assert isinstance(_say(approval, approver), Refused)
    assert isinstance(_say(approval, approver, Choice.CANCEL), Decided)


def test_a_secret_is_given_only_when_confirmed(ask: Ask, approver: Member) -> None:
    approval = ask(fields={"password": {"type": "string"}})
    typed = {"password": "hunter2"}
    assert _say(approval, approver, submitted=typed) == Refused(CONFIRM_SECRETS)
    assert isinstance(_say(approval, approver, submitted=typed, gives_secrets=True), Decided)


def test_after_our_deadline_nothing_is_sent(ask: Ask, approver: Member) -> None:
    approval = ask()
    Approval.objects.update(deadline_at=LATER)
    assert _say(approval, approver) == Refused(OVERDUE)
    assert _nothing_was_written(approval)


# --- the draft


def test_deciding_forgets_the_draft_and_leaves_the_others_theirs(
    ask: Ask, approver: Member, join: Join
) -> None:
    approval, other = ask(fields={"name": {"type": "string"}}), join()
    asked = question.read(approval.input_request)
    for member in (approver, other):
        drafts.save(
            approval, asked, user=member.user, submitted={"name": "x"}, shown_at=NOW, now=NOW
        )
    _say(approval, approver, submitted={"name": "api"})
    assert drafts.load(approval, approver.user) is None
    assert drafts.load(approval, other.user) is not None

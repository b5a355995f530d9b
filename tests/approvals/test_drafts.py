"""Drafts: one person's words, kept until they decide."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from unittest import mock

import pytest

from approvals import binding, drafts, question, verdict
from approvals.models import Approval, Draft, Verdict
from mcpdesk.accounts.access import Member
from tasks_monitor.models import Operation
from tests.approvals.conftest import Ask, Join
from tests.approvals.gates import LATER, a_gate, say, token
from tests.engine.racing import MEET_S, locks_off, side_by_side
from tests.factories import NOW

pytestmark = pytest.mark.django_db

TEXT = {"name": {"type": "string"}, "password": {"type": "string"}}


def _save(approval: Approval, member: Member, **typed: str | list[str]) -> bool:
    asked = question.read(approval.input_request)
    return drafts.save(approval, asked, user=member.user, submitted=typed, shown_at=NOW, now=NOW)


def _kept(approval: Approval, member: Member) -> object:
    draft = drafts.load(approval, member.user)
    return draft and draft.submitted


def test_what_was_typed_is_there_again(ask: Ask, approver: Member) -> None:
    approval = ask(fields=TEXT)
    assert _save(approval, approver, name="half a wor")
    assert _kept(approval, approver) == {"name": "half a wor"}


def test_the_latest_words_replace_the_earlier_ones(ask: Ask, approver: Member) -> None:
    approval = ask(fields=TEXT)
    _save(approval, approver, name="one")
    _save(approval, approver, name="")
    assert _kept(approval, approver) == {"name": ""}
    assert Draft.objects.count() == 1


def test_nobody_else_sees_it(ask: Ask, approver: Member, join: Join) -> None:
    approval = ask(fields=TEXT)
    _save(approval, approver, name="mine")
    assert _kept(approval, join()) is None


def test_a_secret_is_never_kept(ask: Ask, approver: Member) -> None:
    approval = ask(fields=TEXT)
    _save(approval, approver, name="api", password="hunter2")
    assert _kept(approval, approver) == {"name": "api"}


def test_only_the_fields_of_the_question_are_kept(ask: Ask, approver: Member) -> None:
    approval = ask(fields=TEXT)
    _save(approval, approver, other="x")
    assert _kept(approval, approver) == {}


def test_more_than_a_question_may_hold_is_not_kept(ask: Ask, approver: Member) -> None:
    approval = ask(fields=TEXT)
    assert not _save(approval, approver, name="x" * 300_000)
    assert _kept(approval, approver) is None


def test_it_is_encrypted_where_it_lies(ask: Ask, approver: Member) -> None:
    _save(ask(fields=TEXT), approver, name="VISIBLE-WORD")
    raw = Draft.objects.extra(select={"raw": "submitted"}).values_list("raw", flat=True).get()
    assert b"VISIBLE-WORD" not in bytes(raw)


def test_an_autosave_that_comes_late_does_not_bring_it_back(ask: Ask, approver: Member) -> None:
    approval = ask(fields=TEXT)
    Approval.objects.update(
        state="decided", decision="accept", decided_by=approver.user, decided_at=NOW
    )
    assert not _save(approval, approver, name="late")
    assert _kept(approval, approver) is None


def test_nothing_is_kept_with_an_item_whose_payload_was_deleted(ask: Ask, approver: Member) -> None:
    """The retention deletes what an operation carries once; what came after it would stay."""
    approval = ask(fields=TEXT)
    Operation.objects.update(payload_deleted_at=NOW)
    assert not _save(approval, approver, name="late")
    assert _kept(approval, approver) is None


def test_who_lost_the_race_keeps_what_they_typed(ask: Ask, approver: Member, join: Join) -> None:
    approval = ask(fields=TEXT)
    Approval.objects.update(
        state="decided", decision="accept", decided_by=join().user, decided_at=NOW
    )
    assert _save(approval, approver, name="mine")
    assert _kept(approval, approver) == {"name": "mine"}


# what comes after one's own word on a gate that several have to agree to

TWO = {"quorum": 2}


def _keep_reason(approval: Approval, member: Member, shown_at: datetime | None) -> bool:
    said = {"reason": "half a wor", "usual_reason": "", "shown_at": shown_at}
    return drafts.save_reason(approval, user=member.user, **said, now=LATER)


def test_what_was_typed_before_ones_word_is_not_kept_after_it(
    operator: Member, approver: Member
) -> None:
    gate = a_gate(operator, TWO)
    say(gate, approver, now=LATER)
    for shown_at in (NOW, LATER, None):
        assert not _keep_reason(gate, approver, shown_at)
    assert _kept(gate, approver) is None


def test_who_looks_at_it_again_may_begin_to_say_otherwise(
    operator: Member, approver: Member
) -> None:
    gate = a_gate(operator, TWO)
    say(gate, approver, now=LATER)
    again = LATER + timedelta(minutes=1)
    assert _keep_reason(gate, approver, binding.shown_at(token(gate, approver, again)))
    assert _kept(gate, approver) == {"reason": "half a wor"}


def test_the_word_of_somebody_else_takes_nothing_away(
    operator: Member, approver: Member, join: Join
) -> None:
    gate = a_gate(operator, TWO)
    say(gate, join(), now=LATER)
    assert _keep_reason(gate, approver, NOW)


def test_a_token_that_the_desk_did_not_make_says_no_time() -> None:
    assert binding.shown_at("forged") is None


@contextmanager
def _voting_slowly(discarded: threading.Event, saved: threading.Event) -> Iterator[None]:
    """The vote waits for the autosave where both can be at work, once it deleted the draft."""
    discard = drafts.discard

    def slow(*args: object) -> None:
        discard(*args)  # type: ignore[arg-type]
        discarded.set()
        # with the lock the autosave waits for us: nobody says so
        saved.wait(MEET_S)

    with mock.patch.object(verdict.drafts, "discard", slow):
        yield


def _autosave_beside_a_vote(gate: Approval, member: Member) -> object:
    discarded, saved = threading.Event(), threading.Event()

    def autosave() -> bool:
        discarded.wait(10)
        try:
            return _keep_reason(gate, member, NOW)
        finally:
            saved.set()

    with _voting_slowly(discarded, saved):
        side_by_side(lambda: say(gate, member, Verdict.APPROVE, now=LATER), autosave)
    return _kept(gate, member)


@pytest.mark.django_db(transaction=True)
def test_an_autosave_beside_ones_own_vote_brings_nothing_back(
    operator: Member, approver: Member
) -> None:
    assert _autosave_beside_a_vote(a_gate(operator, TWO), approver) is None


@pytest.mark.django_db(transaction=True)
def test_control_without_the_lock_it_brings_the_draft_back(
    operator: Member, approver: Member
) -> None:
    gate = a_gate(operator, TWO)
    with locks_off():
        assert _autosave_beside_a_vote(gate, approver) == {"reason": "half a wor"}

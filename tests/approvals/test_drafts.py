"""Drafts: one person's words, kept until they decide."""

import pytest

from approvals import drafts, question
from approvals.models import Approval, Draft
from mcpdesk.accounts.access import Member
from tasks_monitor.models import Operation
from tests.approvals.conftest import Ask, Join
from tests.factories import NOW

pytestmark = pytest.mark.django_db

TEXT = {"name": {"type": "string"}, "password": {"type": "string"}}


def _save(approval: Approval, member: Member, **typed: str | list[str]) -> bool:
    asked = question.read(approval.input_request)
    return drafts.save(approval, asked, user=member.user, submitted=typed, now=NOW)


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

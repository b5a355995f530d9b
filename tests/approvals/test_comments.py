"""Comments: read and written by those who may read the item, and telling whom they name."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals import comments, notices
from approvals.comments import Commented
from approvals.models import Approval, ApprovalState, Comment
from approvals.outcomes import Missing, Refused
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Role, User
from mcpdesk.audit.models import Event
from tests.approvals.conftest import Ask, Join
from tests.factories import NOW, TeamFactory, UserFactory

NAMES = ["Ana", "Ana Berg", "Ängström", "@", "Bo"]


def _people(*names: str) -> list[User]:
    return [User(pk=number, name=name) for number, name in enumerate(names, start=1)]


def _meant(text: str, *names: str) -> list[str]:
    return [str(person) for person in comments.mentioned(text, _people(*names))]


# --- names in a text (pure)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("@Ana look", ["Ana"]),
        ("@Ana Berg, look", ["Ana Berg"]),
        ("ask @ana berg", ["Ana Berg"]),
        ("@Anastasia", []),
        ("Ana", []),
        ("mail ana@bo.example", ["Bo"]),
        ("@Ana and @Bo", ["Ana", "Bo"]),
        ("@Ana @Ana", ["Ana"]),
        ("@ÄNGSTRÖM!", ["Ängström"]),
        ("@", []),
        ("", []),
    ],
)
def test_a_name_behind_an_at_is_meant(text: str, names: list[str]) -> None:
    assert _meant(text, "Ana", "Ana Berg", "Ängström", "Bo") == names


def test_people_of_one_name_are_all_meant() -> None:
    assert len(comments.mentioned("@Ana", _people("Ana", "Ana"))) == 2


@given(st.text(), st.lists(st.sampled_from(NAMES), max_size=4))
def test_nobody_is_meant_whose_name_is_not_there(text: str, names: list[str]) -> None:
    for name in _meant(text, *names):
        assert f"@{name}".casefold() in text.casefold()


# --- the verb


@pytest.mark.django_db
def test_a_comment_is_kept_and_its_event_says_nothing_of_it(ask: Ask, approver: Member) -> None:
    approval = ask()
    outcome = comments.add(approval.pk, member=approver, text=" Why now? ", now=NOW)
    assert isinstance(outcome, Commented)
    assert (outcome.comment.text, outcome.comment.user) == ("Why now?", approver.user)
    event = Event.objects.get(kind="approval.commented")
    assert (event.data, event.actor) == ({}, approver.user)


@pytest.mark.django_db
def test_whom_it_names_is_told_if_they_may_read_the_item(
    ask: Ask, approver: Member, join: Join, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Comment] = []

    def commented(comment: Comment, now: datetime) -> None:
        told.append(comment)

    monkeypatch.setattr(notices, "commented", commented)
    colleague, viewer = join(), join(Role.VIEWER)
    stranger = join(Role.ADMIN, team=TeamFactory())
    gone = join(user=UserFactory(is_active=False))
    text = " ".join(f"@{one.user}" for one in (colleague, viewer, stranger, gone, approver))
    outcome = comments.add(ask().pk, member=approver, text=text, now=NOW)
    assert isinstance(outcome, Commented)
    assert list(outcome.comment.mentions.all()) == [colleague.user]
    assert outcome.untold == (viewer.user,)
    assert told == [outcome.comment]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("role", "may"),
    [
        (Role.VIEWER, False),
        (Role.APPROVER, True),
        (Role.OPERATOR, True),
        (Role.AUDITOR, True),
        (Role.ADMIN, True),
    ],
)
def test_whoever_may_read_it_may_comment(ask: Ask, join: Join, role: Role, may: bool) -> None:
    outcome = comments.add(ask().pk, member=join(role), text="x", now=NOW)
    assert isinstance(outcome, Commented) is may
    assert may or outcome == Refused(comments.NOT_YOURS)
    assert Comment.objects.exists() is may


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("  \n", comments.NOTHING_SAID),
        ("x" * 2001, comments.TOO_LONG),
        ("a\x00b", comments.TOO_LONG),
        ("\ud800", comments.TOO_LONG),
    ],
)
def test_what_cannot_be_kept_is_refused(
    ask: Ask, approver: Member, text: str, sentence: str
) -> None:
    outcome = comments.add(ask().pk, member=approver, text=text, now=NOW)
    assert outcome == Refused(sentence)
    assert not Comment.objects.exists()


@pytest.mark.django_db
def test_an_item_takes_so_many_comments_and_no_more(
    ask: Ask, approver: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comments, "MAX_COMMENTS", 1)
    approval = ask()
    comments.add(approval.pk, member=approver, text="first", now=NOW)
    second = comments.add(approval.pk, member=approver, text="second", now=NOW)
    assert second == Refused(comments.TOO_MANY)


@pytest.mark.django_db
def test_what_is_over_can_still_be_spoken_of_and_what_is_foreign_cannot(
    ask: Ask, approver: Member, join: Join
) -> None:
    approval = ask()
    Approval.objects.update(state=ApprovalState.WITHDRAWN, closed_at=NOW)
    said = comments.add(approval.pk, member=approver, text="What was it?", now=NOW)
    assert isinstance(said, Commented)
    stranger = join(Role.ADMIN, team=TeamFactory())
    assert comments.add(approval.pk, member=stranger, text="x", now=NOW) == Missing()

"""Erasure of a person: what goes, what stays, who may, and the chain that is the same after it."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest import mock
from uuid import UUID

import pytest
from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.db import OperationalError, connection, transaction
from django.utils import timezone

from approvals.models import Comment, Vote
from mcpdesk import blind
from mcpdesk.accounts import sessions
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.models import ApiToken, Membership, Role, Team, User
from mcpdesk.accounts.sessions import Fallen
from mcpdesk.audit.log import DESK, Actor, record
from mcpdesk.audit.models import Event, LegalHold
from mcpdesk.audit.sealing import seal_due
from mcpdesk.keeping import holds, mentions, payloads, persons
from mcpdesk.notify.models import Alert, Message, MessageState, Preference
from mcpdesk.web import members
from tasks_monitor.engine.rows import lock
from tasks_monitor.models import Operation, Payload, Repair
from tests.engine.racing import Meeting, side_by_side
from tests.factories import NOW, MembershipFactory, TeamFactory
from tests.keeping.full import full_operation, holding, message, numbers_of
from tests.web.browsing import signed_in

pytestmark = pytest.mark.django_db(transaction=True)

NAME = "Óscar Zwölfender"
MARK = "zqwrotethisqz"
#: What they wrote; the rest of the operation is of servers and of calls.
THEIRS = ["started because", "vote", "comment", "draft", "repair"]


@pytest.fixture
def leaver(team: Team) -> User:
    membership: Membership = MembershipFactory(
        team=team, role=Role.OPERATOR, user__name=NAME, user__email="oscar@zwoelf.example"
    )
    signed_in(membership)
    return membership.user


@pytest.fixture
def operation(team: Team, leaver: User) -> Operation:
    made = full_operation(team, by=leaver, mark=MARK)
    made.explanation = f"{NAME}: record it as done: {MARK}"
    made.save(update_fields=["explanation"])
    with transaction.atomic():
        by_them = Actor(leaver, NAME, "web")
        more: dict[str, Any] = {"team_id": team.pk, "now": NOW}
        record("approval.commented", actor=by_them, operation_id=made.pk, **more)
        record("member.added", actor=DESK, person=leaver, role="operator", **more)
    Preference.objects.create(user=leaver)
    Alert.objects.create(team=team, matter="x:1", sentence=f"{NAME} is away", opened_at=NOW)
    naming = message(made, made.approvals.get(), MARK, state=MessageState.DEAD)
    Message.objects.filter(pk=naming.pk).update(content={"sentence": f"{NAME} hands it to you"})
    return made


Erase = Callable[..., User]


@pytest.fixture
def erase(leaver: User, actor: Actor) -> Erase:
    def erase(**more: Any) -> User:
        User.objects.filter(pk=leaver.pk).update(is_active=False)
        given = {"confirmed": NAME, "actor": actor, "now": NOW, **more}
        return persons.erase(leaver.pk, **given)

    return erase


class TestWhatGoes:
    def test_neither_name_nor_address_is_left_in_any_column_of_the_database(
        self, operation: Operation, erase: Erase
    ) -> None:
        assert len(holding(NAME)) >= 6
        erase()
        assert holding(NAME) == holding("zwoelf.example") == []

    @pytest.mark.parametrize("name", ['Óscar "Zwölf" O\'Ender', "Óscar \\ Zwölfender"])
    def test_a_name_is_found_however_it_is_written(
        self, leaver: User, operation: Operation, erase: Erase, name: str
    ) -> None:
        """As it is in a text, not as Python would quote it."""
        User.objects.filter(pk=leaver.pk).update(name=name)
        Message.objects.update(content={"facts": [["Started by", name]]})
        erase(confirmed=name)
        assert [one.content for one in Message.objects.all()] == [{}, {}]

    def test_a_name_from_before_is_found_where_the_log_only_speaks_of_them(
        self, team: Team, leaver: User, operation: Operation, erase: Erase
    ) -> None:
        leaver.name = "Óscar Before"
        with transaction.atomic():
            record("user.password_set", actor=DESK, team_id=team.pk, now=NOW, person=leaver)
        Alert.objects.update(sentence="Nobody but Óscar Before may decide it")
        erase()
        assert holding("Óscar Before") == []

    @pytest.mark.parametrize("name", ["e", "sentence", "Data", "Al"])
    def test_a_short_name_takes_nothing_away_that_names_somebody_else(
        self, leaver: User, operation: Operation, erase: Erase, name: str
    ) -> None:
        """What waits for others to be told still leaves."""
        User.objects.filter(pk=leaver.pk).update(name=name)
        content = {"subject": "Alma waits", "sentence": "The Database waits", "data": {"e": "Ale"}}
        Message.objects.update(
            content=content, state=MessageState.WAITING, next_at=NOW, finished_at=None
        )
        Alert.objects.update(sentence="The Database is late: Alma knows")
        erase(confirmed=name)
        told = [(one.content, one.state) for one in Message.objects.all()]
        assert told == [(content, MessageState.WAITING)] * 2
        assert Alert.objects.get().sentence == "The Database is late: Alma knows"

    def test_what_they_wrote_is_gone_and_what_others_did_is_kept(
        self, operation: Operation, erase: Erase
    ) -> None:
        erase()
        assert [text for text in THEIRS if holding(f"{MARK} {text}")] == []
        assert [text for text in ("argument", "result", "message") if not holding(text)] == []
        assert Payload.objects.get().decisions == [
            {"at": NOW.isoformat(), "by": _new(operation), "choice": "c", "reason": ""}
        ]

    def test_of_what_they_only_agreed_to_the_other_persons_words_stay(
        self, operation: Operation, erase: Erase
    ) -> None:
        both = {"by": NAME, "proposed_by": "Ada", "reason": "looked", "evidence": "row 7"}
        theirs = {"by": "Ada", "proposed_by": NAME, "reason": MARK, "evidence": MARK}
        operation.payload.decisions = [both, theirs]
        operation.payload.save()
        erase()
        assert Payload.objects.get().decisions == [
            {**both, "by": _new(operation)},
            {"by": "Ada", "proposed_by": _new(operation), "reason": ""},
        ]

    def test_their_words_find_nothing_any_more(
        self, team: Team, operation: Operation, erase: Erase
    ) -> None:
        Vote.objects.update(reason="unheardof")
        erase()
        (word,) = blind.open_numbers(team.pk, "unheardof")
        assert not {word, -word} & numbers_of(operation.pk)

    def test_what_they_decided_stays_under_a_number(
        self, operation: Operation, erase: Erase
    ) -> None:
        erased = erase()
        assert str(erased) == f"Erased person {erased.pk}"
        assert Vote.objects.get().user == erased
        assert Operation.objects.get().started_by == erased

    def test_nothing_lets_them_in(self, team: Team, leaver: User, erase: Erase) -> None:
        ApiToken.objects.create(
            team=team, user=leaver, name="Laptop", created_at=NOW, created_by=leaver, digest="d"
        )
        assert Session.objects.count() == 1
        erased = erase()
        token = ApiToken.objects.get()
        assert not Session.objects.exists() and not UserSession.objects.exists()
        assert (token.revoked_at, token.name) == (NOW, "(erased)")
        assert not erased.has_usable_password() and not erased.is_active
        assert not Preference.objects.exists()

    def test_only_their_sessions_are_looked_up_and_others_stay(
        self, team: Team, leaver: User, erase: Erase, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        other = signed_in(MembershipFactory(team=team))
        theirs = UserSession.objects.get(user=leaver)
        theirs.delete()
        with monkeypatch.context() as patched:
            patched.setattr(Session, "get_decoded", lambda _: pytest.fail("a session was read"))
            erase()
        assert Session.objects.filter(session_key=other.session.session_key).exists()
        assert sessions.standing(theirs.session_key, timezone.now()) is Fallen.SIGNED_OUT

    def test_the_chain_of_the_log_is_whole_before_and_after(
        self, operation: Operation, erase: Erase
    ) -> None:
        seal_due(NOW)
        _verify()
        erase()
        _verify()
        seal_due(NOW)
        _verify()
        event = Event.objects.get(kind="user.erased")
        assert event.data["person"].startswith("Erased person ")

    def test_the_dry_run_counts_and_erases_nothing(
        self, leaver: User, operation: Operation
    ) -> None:
        found = persons.going(leaver)
        assert dict(found.kinds)["comments"] == dict(found.kinds)["reasons of votes"] == 1
        assert (found.events, found.oldest, found.newest) == (1, NOW, NOW)
        assert len(holding(NAME)) >= 6 and Comment.objects.exists()


class TestRefusals:
    def test_who_is_active_is_not_erased(self, leaver: User, actor: Actor) -> None:
        with pytest.raises(Refused, match="Deactivate"):
            persons.erase(leaver.pk, confirmed=NAME, actor=actor, now=NOW)
        assert User.objects.get(pk=leaver.pk).name == NAME

    @pytest.mark.parametrize("typed", ["", "oscar", NAME.lower(), f"{NAME}."])
    def test_the_name_has_to_be_typed(self, leaver: User, erase: Erase, typed: str) -> None:
        with pytest.raises(Refused, match="Type the name"):
            erase(confirmed=typed)
        assert User.objects.get(pk=leaver.pk).name == NAME

    @pytest.mark.parametrize("role", sorted(set(Role) - {Role.ADMIN}))
    def test_no_other_role_may(self, team: Team, leaver: User, erase: Erase, role: Role) -> None:
        other = MembershipFactory(team=team, role=role).user
        with pytest.raises(Refused, match="Only an admin of every team"):
            erase(actor=Actor(other, "x", "web"))
        assert User.objects.get(pk=leaver.pk).name == NAME

    def test_an_admin_of_one_of_their_teams_only_may_not(
        self, leaver: User, erase: Erase, admin: Member
    ) -> None:
        elsewhere = MembershipFactory(user=leaver, role=Role.VIEWER).team
        with pytest.raises(Refused, match="Only an admin of every team"):
            erase()
        MembershipFactory(team=elsewhere, user=admin.user, role=Role.ADMIN)
        assert erase().log_salt is None

    def test_a_team_that_knows_them_from_its_log_alone_counts_too(
        self, leaver: User, erase: Erase
    ) -> None:
        with transaction.atomic():
            known = {"team_id": TeamFactory().pk, "now": NOW}
            record("user.renamed", actor=Actor(leaver, NAME, "web"), **known)
        with pytest.raises(Refused, match="Only an admin of every team"):
            erase()

    def test_a_hold_of_a_team_or_of_an_operation_of_theirs_keeps_them(
        self, team: Team, actor: Actor, operation: Operation, erase: Erase
    ) -> None:
        for held in (None, operation.pk):
            hold = holds.begin(team, held, reason="court", actor=actor, now=NOW)
            with pytest.raises(Refused, match="legal hold"):
                erase()
            holds.end(hold.pk, team=team, reason="settled", actor=actor, now=NOW)
        assert erase().log_salt is None

    def test_a_hold_of_an_operation_they_had_nothing_to_do_with_does_not(
        self, team: Team, admin: Member, actor: Actor, operation: Operation, erase: Erase
    ) -> None:
        other = full_operation(team, by=admin.user, mark="other")
        holds.begin(team, other.pk, reason="court", actor=actor, now=NOW)
        assert erase().log_salt is None

    def test_once(self, operation: Operation, erase: Erase) -> None:
        erased = erase()
        with pytest.raises(Refused, match="erased already"):
            erase(confirmed=str(erased))
        assert Event.objects.filter(kind="user.erased").count() == 1

    def test_who_is_erased_is_not_let_in_again(
        self, team: Team, leaver: User, actor: Actor, erase: Erase
    ) -> None:
        erase()
        pk = Membership.objects.get(user=leaver).pk
        with pytest.raises(Refused, match="was erased"):
            members.reactivate(pk, team_id=team.pk, actor=actor, now=NOW)

    def test_of_a_hold_and_an_erasure_at_once_the_hold_that_came_first_wins(
        self,
        team: Team,
        actor: Actor,
        operation: Operation,
        erase: Erase,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """It begins after the erasure has looked who the teams are, and before it has the lock."""
        wait, first = persons.legal.wait_for_deletions, iter([True])

        def begin() -> LegalHold:
            try:
                return holds.begin(team, None, reason="court", actor=actor, now=NOW)
            finally:
                connection.close()

        def begin_first(team_id: int) -> None:
            if next(first, False):
                with ThreadPoolExecutor(1) as pool:
                    pool.submit(begin).result(timeout=20)
            wait(team_id)

        monkeypatch.setattr(persons.legal, "wait_for_deletions", begin_first)
        with pytest.raises(Refused, match="legal hold"):
            erase()
        assert len(holding(NAME)) >= 6

    def test_whoever_repairs_an_operation_of_theirs_meanwhile_is_waited_for(
        self, operation: Operation, erase: Erase
    ) -> None:
        """Each has what it locks first before the other goes on."""
        # nothing else of theirs is on the operation's own row
        Operation.objects.filter(pk=operation.pk).update(reason="")
        meeting = Meeting()

        def repair() -> None:
            with transaction.atomic():
                lock(operation.pk)
                meeting.wait()
                list(Repair.objects.select_for_update().filter(operation=operation))

        def erase_meanwhile() -> None:
            looked = mentions._repaired_by

            def then_meet(user: User) -> list[UUID]:
                found = looked(user)
                meeting.wait()
                return found

            with mock.patch.object(mentions, "_repaired_by", then_meet):
                erase()

        assert side_by_side(repair, erase_meanwhile) == [None, None]
        assert holding(NAME) == []

    @pytest.mark.parametrize("alone", [True, False])
    def test_whoever_deletes_what_their_operations_carried_is_waited_for(
        self, team: Team, operation: Operation, erase: Erase, alone: bool
    ) -> None:
        """Each has what it takes first before the other goes on; side by side they would wait for
        each other, and PostgreSQL would end one.
        """
        Operation.objects.filter(pk=operation.pk).update(reason="")
        meeting = Meeting()

        def met(do: Callable[..., Any]) -> Callable[..., Any]:
            def then_do(*given: Any) -> Any:
                meeting.wait()
                return do(*given)

            return then_do

        def delete() -> None:
            with mock.patch.object(payloads.retention, "take_back", met(lambda *_: None)):
                payloads.delete_some(team, timezone.now(), timezone.now(), days=30)

        def erase_meanwhile() -> None:
            wait = persons.legal.wait_for_deletions if alone else persons.legal.keep_as_they_are
            with (
                mock.patch.object(persons.legal, "wait_for_deletions", wait),
                mock.patch.object(persons, "rebuild", met(persons.rebuild)),
            ):
                erase()

        failed = [one for one in side_by_side(delete, erase_meanwhile) if one is not None]
        assert [type(one) for one in failed] == ([] if alone else [OperationalError])


class TestPage:
    def test_it_shows_what_would_go_and_erases_by_the_name(
        self, admin: Member, leaver: User, operation: Operation
    ) -> None:
        User.objects.filter(pk=leaver.pk).update(is_active=False)
        client = signed_in(Membership.objects.get(user=admin.user))
        address = f"/team/{Membership.objects.get(user=leaver).pk}/erase/"
        shown = client.get(address).content.decode()
        assert "comments: 1" in shown and "This cannot be undone" in shown
        wrong = client.post(address, {"name": "somebody"})
        assert wrong.status_code == 422 and persons.NOT_CONFIRMED in wrong.content.decode()
        assert User.objects.get(pk=leaver.pk).name == NAME
        client.post(address, {"name": NAME})
        assert holding(NAME) == []
        assert f"Erased person {leaver.pk}" in client.get("/team/").content.decode()


def _new(operation: Operation) -> str:
    return f"Erased person {operation.started_by_id}"


def _verify() -> None:
    with pytest.raises(SystemExit) as ended:
        call_command("verify_audit")
    assert ended.value.code == 0

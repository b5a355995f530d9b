"""The history of roles and absences, which the database keeps by itself."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import ProgrammingError, connection, transaction

from mcpdesk.accounts.models import (
    Absence,
    AbsenceSpan,
    Membership,
    Role,
    RoleSpan,
    Team,
    User,
)
from tests.factories import AbsenceFactory, MembershipFactory, TeamFactory, UserFactory

pytestmark = pytest.mark.django_db


def spans(user: User) -> list[tuple[str, bool]]:
    """Roles in order, and whether each still lasts."""
    found = RoleSpan.objects.filter(user=user)
    return [(span.role, span.ends_at is None) for span in found]


def test_a_new_member_has_their_role_from_then_on() -> None:
    member = MembershipFactory(role=Role.OPERATOR)
    assert spans(member.user) == [("operator", True)]


def test_a_changed_role_closes_one_span_and_opens_the_next_at_the_same_moment() -> None:
    member = MembershipFactory(role=Role.VIEWER)
    member.role = Role.ADMIN
    member.save()
    first, second = RoleSpan.objects.filter(user=member.user)
    assert (first.role, second.role) == ("viewer", "admin")
    assert first.ends_at == second.starts_at
    assert second.ends_at is None


def test_no_path_around_the_verbs_forgets_the_history() -> None:
    member = MembershipFactory(role=Role.VIEWER)
    Membership.objects.filter(pk=member.pk).update(role=Role.AUDITOR)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE accounts_membership SET role = 'operator' WHERE id = %s", [member.pk]
        )
    assert spans(member.user) == [("viewer", False), ("auditor", False), ("operator", True)]


def test_saving_the_same_role_again_changes_nothing() -> None:
    member = MembershipFactory()
    member.save()
    assert spans(member.user) == [("approver", True)]


def test_who_is_removed_and_comes_back_was_away_between() -> None:
    member = MembershipFactory(role=Role.APPROVER)
    team, user = member.team, member.user
    member.delete()
    assert spans(user) == [("approver", False)]
    MembershipFactory(team=team, user=user, role=Role.VIEWER)
    assert spans(user) == [("approver", False), ("viewer", True)]


def test_a_closed_account_has_no_role_anywhere_until_it_is_opened_again() -> None:
    user = UserFactory()
    for role in (Role.ADMIN, Role.VIEWER):
        MembershipFactory(user=user, role=role)
    user.is_active = False
    user.save()
    assert spans(user) == [("admin", False), ("viewer", False)]
    user.is_active = True
    user.save()
    assert spans(user)[2:] == [("admin", True), ("viewer", True)]


def test_a_member_who_cannot_sign_in_gets_no_role_by_being_added() -> None:
    user = UserFactory(is_active=False)
    member = MembershipFactory(user=user)
    member.role = Role.ADMIN
    member.save()
    assert spans(user) == []


def test_other_changes_of_a_person_leave_the_history_alone() -> None:
    member = MembershipFactory()
    member.user.name = "Somebody"
    member.user.save()
    assert spans(member.user) == [("approver", True)]


def test_the_history_of_roles_cannot_be_rewritten() -> None:
    member = MembershipFactory()
    member.delete()
    span = RoleSpan.objects.filter(user=member.user)
    for rewrite in (
        lambda: span.update(role="admin"),
        lambda: span.update(ends_at=None),
        lambda: span.delete(),
    ):
        with pytest.raises(ProgrammingError, match="history of people"), transaction.atomic():
            rewrite()
    assert spans(member.user) == [("approver", False)]


def test_what_an_absence_said_before_it_was_changed_is_known() -> None:
    absence = AbsenceFactory()
    before = absence.stand_in
    absence.stand_in = UserFactory()
    absence.save()
    first, second = AbsenceSpan.objects.all()
    assert (first.stand_in, second.stand_in) == (before, absence.stand_in)
    assert first.said_until == second.said_from
    assert second.said_until is None


def test_an_absence_that_was_taken_back_is_known() -> None:
    absence = AbsenceFactory()
    absence.delete()
    span = AbsenceSpan.objects.get()
    assert span.said_until is not None
    with pytest.raises(ProgrammingError, match="history of people"), transaction.atomic():
        AbsenceSpan.objects.update(said_until=span.said_until + timedelta(days=1))


def test_an_absence_that_is_saved_unchanged_has_one_span() -> None:
    absence = AbsenceFactory()
    Absence.objects.get(pk=absence.pk).save()
    assert AbsenceSpan.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_who_is_added_while_their_account_is_closed_has_no_role_that_lasts() -> None:
    """The one transaction does not see the other's row: the person's lock lets it wait."""
    team, user = TeamFactory(), UserFactory()
    closed, added = threading.Event(), threading.Event()

    def close() -> None:
        with transaction.atomic():
            User.objects.filter(pk=user.pk).update(is_active=False)
            closed.set()
            while not added.wait(0.02) and not _somebody_waits():
                pass
        connection.close()

    def add() -> None:
        closed.wait(5)
        Membership.objects.create(team=Team(pk=team.pk), user=User(pk=user.pk), role=Role.ADMIN)
        added.set()
        connection.close()

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(close), pool.submit(add)]:
            done.result()
    assert spans(user) == []


def _somebody_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event_type = 'Lock')"
        )
        return bool(cursor.fetchone()[0])

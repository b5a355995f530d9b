"""Away: the verbs, their refusals and events, each role, the repeat, the race; and the page."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection

from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.models import Absence, Membership, Role, Team, User
from mcpdesk.audit.models import Event
from mcpdesk.web import absences
from mcpdesk.web.absences import Away, change_absence, end_absence, set_absence
from tests.factories import NOW, AbsenceFactory, MembershipFactory, TeamFactory
from tests.web.browsing import browser, signed_in

pytestmark = pytest.mark.django_db(transaction=True)

TODAY, DAY = NOW.date(), timedelta(days=1)


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks_monitor.engine.doorbell.ring_task", lambda *_: None)


def _member(membership: Membership) -> Member:
    found = access.member_in(membership.user, membership.team_id)
    assert found is not None
    return found


@pytest.fixture
def approver() -> Membership:
    return MembershipFactory(role=Role.APPROVER, user__name="Anna")


@pytest.fixture
def colleague(approver: Membership) -> Membership:
    return MembershipFactory(team=approver.team, role=Role.OPERATOR, user__name="Ole")


@pytest.fixture
def admin(approver: Membership) -> Membership:
    return MembershipFactory(team=approver.team, role=Role.ADMIN, user__name="Ada")


def _week(user: User, stand_in: User, **more: Any) -> Away:
    return Away(user, stand_in, more.pop("first", TODAY), more.pop("last", TODAY + 6 * DAY))


# --- the effect


def test_it_holds_from_the_first_midnight_to_the_end_of_the_last_day_in_the_persons_zone(
    approver: Membership, colleague: Membership
) -> None:
    # summer time ends in between: the last day ends an hour later by the clock of UTC
    approver.user.time_zone = "America/New_York"
    approver.user.save()
    wanted = Away(approver.user, colleague.user, date(2027, 10, 30), date(2027, 11, 7))
    made = set_absence(wanted, member=_member(approver), now=NOW)
    assert made.starts_at.astimezone(UTC) == datetime(2027, 10, 30, 4, tzinfo=UTC)
    assert made.ends_at.astimezone(UTC) == datetime(2027, 11, 8, 5, tzinfo=UTC)
    assert absences.days_of(Absence.objects.get()) == (wanted.first, wanted.last)


def test_the_log_says_who_is_away_until_when_who_stands_in_and_who_said_so(
    approver: Membership, colleague: Membership, admin: Membership
) -> None:
    made = set_absence(_week(approver.user, colleague.user), member=_member(admin), now=NOW)
    end_absence(made.pk, member=_member(approver), now=NOW)
    first, last = Event.objects.order_by("id")
    assert first.sentence == "Anna is away from 2026-11-29 to 2026-12-05; Ole stands in (Ada)"
    assert (last.sentence, last.actor) == ("Anna is not away any more (Anna)", approver.user)


def test_an_absence_that_lasts_ends_at_once_and_keeps_that_it_was(
    approver: Membership, colleague: Membership
) -> None:
    made = set_absence(_week(approver.user, colleague.user), member=_member(approver), now=NOW)
    assert access.member_in(colleague.user, approver.team_id, NOW).stands_in_for  # type: ignore[union-attr]
    end_absence(made.pk, member=_member(approver), now=NOW)
    made.refresh_from_db()
    assert made.ends_at == NOW
    assert not access.member_in(colleague.user, approver.team_id, NOW).stands_in_for  # type: ignore[union-attr]


def test_an_absence_still_to_come_is_taken_out(approver: Membership, colleague: Membership) -> None:
    wanted = _week(approver.user, colleague.user, first=TODAY + DAY)
    made = set_absence(wanted, member=_member(approver), now=NOW)
    end_absence(made.pk, member=_member(approver), now=NOW)
    assert not Absence.objects.exists()


def test_days_and_stand_in_change_also_while_it_lasts(
    approver: Membership, colleague: Membership, admin: Membership
) -> None:
    made = set_absence(_week(approver.user, colleague.user), member=_member(approver), now=NOW)
    later = NOW + 2 * DAY
    wanted = _week(approver.user, admin.user, last=TODAY + 3 * DAY)
    change_absence(made.pk, wanted, member=_member(approver), now=later)
    made.refresh_from_db()
    assert made.stand_in == admin.user
    assert absences.days_of(made) == (TODAY, TODAY + 3 * DAY)


def test_the_clock_looks_at_what_is_open_in_the_team(
    approver: Membership, colleague: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[int] = []
    monkeypatch.setattr("approvals.alertness.look_again", looked.append)
    made = set_absence(_week(approver.user, colleague.user), member=_member(approver), now=NOW)
    end_absence(made.pk, member=_member(approver), now=NOW)
    assert looked == [approver.team_id] * 2


# --- refusals


def _refused(wanted: Away, by: Membership, says: str, now: datetime = NOW) -> None:
    with pytest.raises(Refused, match=says):
        set_absence(wanted, member=_member(by), now=now)
    assert not Absence.objects.exists()
    assert not Event.objects.exists()


def test_days_that_make_no_sense_are_refused(approver: Membership, colleague: Membership) -> None:
    who = (approver.user, colleague.user)
    _refused(_week(*who, last=TODAY - DAY), approver, "last day comes before")
    _refused(_week(*who, first=TODAY - 2 * DAY), approver, "first day is over")
    _refused(_week(*who, last=TODAY + 366 * DAY), approver, "At most 366 days")
    _refused(_week(*who, first=date.max, last=date.max), approver, "more than five years ahead")


def test_what_is_today_is_todays_date_where_the_person_is(
    approver: Membership, colleague: Membership
) -> None:
    approver.user.time_zone = "Pacific/Auckland"
    approver.user.save()
    late = datetime(2026, 11, 29, 23, tzinfo=UTC)  # the 30th over there
    wanted = _week(approver.user, colleague.user, first=TODAY, last=TODAY)
    _refused(wanted, approver, "is over already", late)


@pytest.mark.parametrize("role", [Role.VIEWER, Role.AUDITOR])
def test_a_stand_in_is_an_active_member_whose_role_decides(
    approver: Membership, role: Role
) -> None:
    weak = MembershipFactory(team=approver.team, role=role)
    gone = MembershipFactory(team=approver.team, role=Role.ADMIN, user__is_active=False)
    stranger = MembershipFactory(role=Role.ADMIN)
    for other in (weak, gone, stranger):
        _refused(_week(approver.user, other.user), approver, "active member whose role decides")
    _refused(_week(approver.user, approver.user), approver, "Somebody else has to stand in")


def test_who_decides_nothing_needs_no_stand_in(
    colleague: Membership, admin: Membership, approver: Membership
) -> None:
    Membership.objects.filter(pk=approver.pk).update(role=Role.VIEWER)
    for by in (approver, admin):
        _refused(_week(approver.user, colleague.user), by, "decides nothing in this team")


def test_nobody_but_an_admin_sets_it_for_somebody_else(
    approver: Membership, colleague: Membership
) -> None:
    third = MembershipFactory(team=approver.team, role=Role.APPROVER)
    _refused(_week(approver.user, third.user), colleague, "Only they themselves, or an admin")


def test_an_admin_does_not_make_themselves_somebodys_stand_in(
    approver: Membership, admin: Membership
) -> None:
    _refused(_week(approver.user, admin.user), admin, "Nobody makes themselves")
    set_absence(_week(approver.user, admin.user), member=_member(approver), now=NOW)


def test_a_role_that_was_taken_away_meanwhile_counts(
    approver: Membership, colleague: Membership, admin: Membership
) -> None:
    stale = _member(admin)
    Membership.objects.filter(pk=admin.pk).update(role=Role.VIEWER)
    with pytest.raises(Refused):
        set_absence(_week(approver.user, colleague.user), member=stale, now=NOW)
    Membership.objects.filter(pk=admin.pk).delete()
    with pytest.raises(Refused):
        set_absence(_week(approver.user, colleague.user), member=stale, now=NOW)


def test_the_same_days_twice_are_refused(approver: Membership, colleague: Membership) -> None:
    member = _member(approver)
    set_absence(_week(approver.user, colleague.user), member=member, now=NOW)
    with pytest.raises(Refused, match="away on some of these days already"):
        set_absence(
            _week(approver.user, colleague.user, first=TODAY + 6 * DAY, last=TODAY + 8 * DAY),
            member=member,
            now=NOW,
        )
    next_week = _week(approver.user, colleague.user, first=TODAY + 7 * DAY, last=TODAY + 8 * DAY)
    set_absence(next_week, member=member, now=NOW)
    assert Absence.objects.count() == 2


def test_what_is_over_is_neither_changed_nor_ended_again(
    approver: Membership, colleague: Membership
) -> None:
    made = set_absence(_week(approver.user, colleague.user), member=_member(approver), now=NOW)
    end_absence(made.pk, member=_member(approver), now=NOW)
    with pytest.raises(Refused, match="over already"):
        end_absence(made.pk, member=_member(approver), now=NOW)
    with pytest.raises(Refused, match="over already"):
        wanted = _week(approver.user, colleague.user)
        change_absence(made.pk, wanted, member=_member(approver), now=NOW)
    assert Event.objects.count() == 2


def test_another_teams_absence_does_not_exist(approver: Membership, colleague: Membership) -> None:
    theirs = AbsenceFactory(user=approver.user, stand_in=colleague.user)
    MembershipFactory(team=theirs.team, user=approver.user, role=Role.APPROVER)
    with pytest.raises(Absence.DoesNotExist):
        end_absence(theirs.pk, member=_member(approver), now=NOW)


# --- the race


def _set_twice(
    approver: Membership, colleague: Membership, monkeypatch: pytest.MonkeyPatch
) -> list[Absence | BaseException]:
    both = threading.Barrier(2)
    check = absences._check

    def after_both_checked(*args: Any) -> None:
        check(*args)
        # broken: the other one waits for the team, as it should
        with suppress(threading.BrokenBarrierError):
            both.wait(timeout=1)

    monkeypatch.setattr(absences, "_check", after_both_checked)

    def one(_: int) -> Absence | BaseException:
        wanted = _week(approver.user, colleague.user)
        try:
            return set_absence(wanted, member=_member(approver), now=NOW)
        except Exception as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(one, range(2)))


def test_of_two_at_once_one_is_refused(
    approver: Membership, colleague: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = _set_twice(approver, colleague, monkeypatch)
    assert sum(isinstance(one, Refused) for one in outcomes) == 1
    assert Absence.objects.count() == 1


def test_without_the_lock_both_are_set(
    approver: Membership, colleague: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control."""
    monkeypatch.setattr(absences, "_current", lambda member, user: member)
    _set_twice(approver, colleague, monkeypatch)
    assert Absence.objects.count() == 2


# --- the page


def _post(by: Membership, path: str, **form: Any) -> Any:
    with time_machine.travel(NOW, tick=False):
        return signed_in(by).post(path, form, follow=True)


def _form(stand_in: Membership, **more: Any) -> dict[str, Any]:
    days = {"first": TODAY.isoformat(), "last": (TODAY + DAY).isoformat()}
    return {"stand_in": stand_in.user_id, **days, **more}


def test_one_sets_changes_and_ends_ones_own(
    approver: Membership, colleague: Membership, admin: Membership
) -> None:
    page = _post(approver, "/away/add/", **_form(colleague)).content.decode()
    assert "Anna is away from 29 Nov 2026 to 30 Nov 2026; Ole stands in." in page
    assert "away now" in page
    absence = Absence.objects.get()
    with time_machine.travel(NOW, tick=False):
        form = signed_in(approver).get(f"/away/{absence.pk}/").content.decode()
    assert 'value="2026-11-29"' in form
    _post(approver, f"/away/{absence.pk}/", **_form(admin))
    absence.refresh_from_db()
    assert absence.stand_in == admin.user
    page = _post(approver, f"/away/{absence.pk}/end/").content.decode()
    assert "Nobody is away" in page


def test_an_admin_picks_who_is_away_and_nobody_else_can(
    approver: Membership, colleague: Membership, admin: Membership
) -> None:
    third = MembershipFactory(team=approver.team, role=Role.APPROVER)
    _post(colleague, "/away/add/", **_form(third, person=approver.user_id))
    assert Absence.objects.get().user == colleague.user
    Absence.objects.all().delete()
    _post(admin, "/away/add/", **_form(colleague, person=approver.user_id))
    assert Absence.objects.get().user == approver.user


def test_a_refusal_keeps_what_was_typed_and_says_why(
    approver: Membership, colleague: Membership
) -> None:
    response = _post(approver, "/away/add/", **_form(colleague, first="2026-11-01"))
    assert response.status_code == 422
    assert "The first day is over already." in response.content.decode()
    assert 'value="2026-11-01"' in response.content.decode()
    assert _post(approver, "/away/add/", **_form(colleague, last="x")).status_code == 422


def test_people_of_other_teams_cannot_be_named(approver: Membership, colleague: Membership) -> None:
    stranger = MembershipFactory(role=Role.ADMIN)
    assert _post(approver, "/away/add/", **_form(stranger)).status_code == 422
    assert not Absence.objects.exists()


def test_a_colleague_reads_it_and_may_not_change_it(
    approver: Membership, colleague: Membership
) -> None:
    _post(approver, "/away/add/", **_form(colleague))
    absence = Absence.objects.get()
    with time_machine.travel(NOW, tick=False):
        page = signed_in(colleague).get("/away/").content.decode()
    assert "Ole stands in (you)" in page
    assert "End now" not in page
    for path in (f"/away/{absence.pk}/", f"/away/{absence.pk}/end/"):
        assert _post(colleague, path, **_form(colleague)).status_code == 403
    stranger = MembershipFactory(role=Role.ADMIN)
    for path in (f"/away/{absence.pk}/", f"/away/{absence.pk}/end/"):
        assert _post(stranger, path, **_form(colleague)).status_code == 404
    assert Absence.objects.get().ends_at > NOW


@pytest.mark.parametrize("role", [Role.VIEWER, Role.AUDITOR])
def test_a_role_that_decides_nothing_reads_and_sets_nothing(
    approver: Membership, colleague: Membership, role: Role
) -> None:
    reader = MembershipFactory(team=approver.team, role=role)
    assert _post(reader, "/away/add/", **_form(colleague)).status_code == 403
    assert "Your role decides nothing" in signed_in(reader).get("/away/").content.decode()


def test_the_page_says_where_nobody_stands_in_after_all(
    approver: Membership, colleague: Membership
) -> None:
    _post(approver, "/away/add/", **_form(colleague))
    Membership.objects.filter(pk=colleague.pk).update(role=Role.VIEWER)
    with time_machine.travel(NOW, tick=False):
        page = signed_in(approver).get("/away/").content.decode()
    assert "so nobody stands in" in page


def test_a_stand_in_who_is_away_too_is_pointed_out(
    approver: Membership, colleague: Membership, admin: Membership
) -> None:
    _post(colleague, "/away/add/", **_form(admin))
    page = _post(approver, "/away/add/", **_form(colleague)).content.decode()
    assert "Ole is away on some of these days as well" in page


def test_the_page_costs_the_same_however_many_are_away(
    django_assert_num_queries: Any,
) -> None:
    team: Team = TeamFactory()
    client = browser(Role.APPROVER, team)
    for _ in range(10):
        pair = MembershipFactory.create_batch(2, team=team)
        AbsenceFactory(
            team=team, user=pair[0].user, stand_in=pair[1].user, ends_at=datetime.now(UTC) + DAY
        )
    with django_assert_num_queries(10):
        client.get("/away/")

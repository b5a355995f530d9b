"""Away: a date range and a stand-in, for oneself, or by an admin for somebody else.

While it lasts, what is put to the person is put to the stand-in as well (accounts.access). It
gives nobody a right of their own: the stand-in says for whom they act, and the two count once.
"""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any

from django.db import transaction

from approvals import alertness
from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member, Permission
from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.models import Absence, Team, User
from mcpdesk.accounts.zones import zone_of
from mcpdesk.audit.log import Actor, record

MAX_DAYS = 366
#: Farther ahead nobody plans, and the calendar has an end.
MAX_AHEAD = timedelta(days=5 * 366)


@dataclass(frozen=True, slots=True)
class Away:
    """Who is away, whole days in their own time zone, the last one included, and who stands in."""

    user: User
    stand_in: User
    first: date
    last: date

    @property
    def starts_at(self) -> datetime:
        return datetime.combine(self.first, time.min, zone_of(self.user))

    @property
    def ends_at(self) -> datetime:
        return datetime.combine(self.last + timedelta(days=1), time.min, zone_of(self.user))


def days_of(absence: Absence) -> tuple[date, date]:
    """The first and the last day of an absence in the zone of whoever is away."""
    zone = zone_of(absence.user)
    last = absence.ends_at - timedelta(microseconds=1)
    return absence.starts_at.astimezone(zone).date(), last.astimezone(zone).date()


@dataclass(frozen=True, slots=True)
class Row:
    """One absence as a member sees it. `helps`: the stand-in could decide if it lasts now."""

    absence: Absence
    first: date
    last: date
    lasts: bool
    helps: bool
    may_change: bool


def listed(member: Member, now: datetime) -> list[Row]:
    """Absences of the team that last or are still to come, the next first, in two queries."""
    found = member.team.absences.filter(ends_at__gt=now).select_related("user", "stand_in")
    deciding = set(access.deciding_members(member.team_id).values_list("user_id", flat=True))
    return [
        Row(
            absence,
            *days_of(absence),
            lasts=absence.starts_at <= now,
            helps={absence.user_id, absence.stand_in_id} <= deciding,
            may_change=may_change(member, absence),
        )
        for absence in found.order_by("starts_at", "pk")
    ]


def is_away_too(absence: Absence) -> bool:
    """Whether the stand-in is away on some of these days as well."""
    theirs = Absence.objects.filter(team=absence.team_id, user=absence.stand_in_id)
    return theirs.filter(starts_at__lt=absence.ends_at, ends_at__gt=absence.starts_at).exists()


def may_change(member: Member, absence: Absence) -> bool:
    """One's own, and an admin everybody's."""
    return absence.user_id == member.user_id or member.may(Permission.ADMINISTER)


@transaction.atomic(durable=True)
def set_absence(wanted: Away, *, member: Member, now: datetime) -> Absence:
    """Say that somebody will be away and who stands in. Raises `Refused`."""
    current = _current(member, wanted.user)
    if wanted.first < _today(wanted.user, now):
        raise Refused("The first day is over already.")
    _check(wanted, current, now)
    return _save(Absence(team=current.team, user=wanted.user), wanted, current, now)


@transaction.atomic(durable=True)
def change_absence(absence_id: int, wanted: Away, *, member: Member, now: datetime) -> Absence:
    """Give an absence other days or another stand-in; `wanted.user` stays who it is.

    Raises `Refused`, and Absence.DoesNotExist.
    """
    current = _current(member, wanted.user)
    absence = current.team.absences.get(pk=absence_id, user=wanted.user)
    _refuse_over(absence, now)
    if wanted.first < _today(wanted.user, now) and wanted.first != days_of(absence)[0]:
        raise Refused("The first day is over already.")
    _check(wanted, current, now, absence)
    return _save(absence, wanted, current, now)


@transaction.atomic(durable=True)
def end_absence(absence_id: int, *, member: Member, now: datetime) -> None:
    """Nobody stands in any more, from now on. Raises `Refused`, and Absence.DoesNotExist."""
    absence = member.team.absences.select_related("user").get(pk=absence_id)
    current = _current(member, absence.user)
    _refuse_over(absence, now)
    if absence.starts_at < now:
        absence.ends_at = now
        absence.save(update_fields=["ends_at"])
    else:
        absence.delete()
    _record("absence.ended", current, absence.user, now)


def _current(member: Member, user: User) -> Member:
    """The team locked, so that two changes wait for each other, and the member as of now."""
    # without the key: a decision that writes its events meanwhile does not wait for it
    Team.objects.select_for_update(no_key=True).get(pk=member.team_id)
    current = access.member_in(member.user, member.team_id)
    if current is None or not (current.user_id == user.pk or current.may(Permission.ADMINISTER)):
        raise Refused("Only they themselves, or an admin of the team, say when somebody is away.")
    return current


def _check(wanted: Away, current: Member, now: datetime, absence: Absence | None = None) -> None:
    _check_days(wanted, now)
    _check_people(wanted, current)
    others = current.team.absences.filter(user=wanted.user)
    if absence is not None:
        others = others.exclude(pk=absence.pk)
    if others.filter(starts_at__lt=wanted.ends_at, ends_at__gt=wanted.starts_at).exists():
        raise Refused(f"{wanted.user} is away on some of these days already: change that instead.")


def _check_days(wanted: Away, now: datetime) -> None:
    if wanted.last < wanted.first:
        raise Refused("The last day comes before the first.")
    if wanted.last < _today(wanted.user, now):
        raise Refused("The last day is over already.")
    if wanted.first - _today(wanted.user, now) > MAX_AHEAD:
        raise Refused("The first day is more than five years ahead.")
    if (wanted.last - wanted.first).days >= MAX_DAYS:
        raise Refused(f"At most {MAX_DAYS} days at a time.")


def _check_people(wanted: Away, current: Member) -> None:
    if not _decides(wanted.user, current.team):
        raise Refused(f"{wanted.user} decides nothing in this team, so nobody has to stand in.")
    if wanted.stand_in == wanted.user:
        raise Refused("Somebody else has to stand in.")
    if not _decides(wanted.stand_in, current.team):
        raise Refused("Whoever stands in has to be an active member whose role decides.")
    if wanted.stand_in == current.user:
        raise Refused(
            "Nobody makes themselves the stand-in of somebody else: another admin can do it."
        )


def _decides(user: User, team: Team) -> bool:
    found = access.member_in(user, team.pk)
    return found is not None and found.may(Permission.DECIDE)


def _refuse_over(absence: Absence, now: datetime) -> None:
    if absence.ends_at <= now:
        raise Refused("This absence is over already.")


def _save(absence: Absence, wanted: Away, current: Member, now: datetime) -> Absence:
    absence.stand_in = wanted.stand_in
    absence.starts_at, absence.ends_at = wanted.starts_at, wanted.ends_at
    absence.save()
    days = {"first": wanted.first.isoformat(), "last": wanted.last.isoformat()}
    _record("absence.set", current, wanted.user, now, stand_in=wanted.stand_in, **days)
    return absence


def _record(kind: str, current: Member, user: User, now: datetime, **data: Any) -> None:
    actor = Actor.person(current)
    record(kind, team_id=current.team_id, actor=actor, now=now, person=user, **data)
    alertness.look_again(current.team_id)


def _today(user: User, now: datetime) -> date:
    return now.astimezone(zone_of(user)).date()

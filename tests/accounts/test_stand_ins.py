"""Stand-ins: who may decide while somebody is away, and that every way of asking agrees."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from approvals.models import Approval, Audience
from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member, Permission, Right
from mcpdesk.accounts.models import Membership, Role, User
from tests.factories import (
    NOW,
    AbsenceFactory,
    ApprovalFactory,
    MembershipFactory,
    OperationFactory,
    ServerFactory,
    TeamFactory,
)

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


def _member(membership: Membership, at: datetime = NOW) -> Member:
    found = access.member_in(membership.user, membership.team_id, at)
    assert found is not None
    return found


def _approval(team: Any, starter: User | None = None, **columns: Any) -> Approval:
    operation = OperationFactory(server=ServerFactory(team=team), started_by=starter)
    made: Approval = ApprovalFactory(input_request__operation=operation, **columns)
    return made


@pytest.fixture
def pair() -> tuple[Membership, Membership]:
    """An approver who is away, and the operator who stands in."""
    away = MembershipFactory(role=Role.APPROVER)
    stand_in = MembershipFactory(team=away.team, role=Role.OPERATOR)
    AbsenceFactory(team=away.team, user=away.user, stand_in=stand_in.user)
    return away, stand_in


def test_while_somebody_is_away_it_is_put_to_both(pair: tuple[Membership, Membership]) -> None:
    away, stand_in = pair
    approval = _approval(away.team)
    assert access.may_decide(_member(away), approval)
    assert access.may_decide(_member(stand_in), approval)
    assert access.acting_for(_member(stand_in), approval) == away.user
    assert access.acting_for(_member(away), approval) is None
    assert access.deciders(approval, NOW).headcount == 1


@pytest.mark.parametrize(
    ("after", "stands_in"),
    [(-timedelta(microseconds=1), False), (timedelta(0), True), (24 * HOUR, False)],
)
def test_it_begins_and_ends_on_the_moment(after: timedelta, stands_in: bool) -> None:
    away = MembershipFactory(role=Role.APPROVER)
    stand_in = MembershipFactory(team=away.team, role=Role.OPERATOR)
    AbsenceFactory(
        team=away.team,
        user=away.user,
        stand_in=stand_in.user,
        starts_at=NOW,
        ends_at=NOW + 24 * HOUR,
    )
    approval = _approval(away.team)
    member = _member(stand_in, NOW + after)
    assert access.may_decide(member, approval) is stands_in
    assert (stand_in.user in access.deciders(approval, NOW + after).users) is stands_in


def test_who_may_decide_anyway_acts_in_their_own_right(pair: tuple[Membership, Membership]) -> None:
    away, stand_in = pair
    Membership.objects.filter(pk=stand_in.pk).update(role=Role.ADMIN)
    assert access.acting_for(_member(stand_in), _approval(away.team)) is None


def test_a_stand_in_whose_role_does_not_decide_stands_in_for_nobody(
    pair: tuple[Membership, Membership],
) -> None:
    away, stand_in = pair
    Membership.objects.filter(pk=stand_in.pk).update(role=Role.AUDITOR)
    assert _member(stand_in).stands_in_for == ()
    assert not access.was_put_to(_member(stand_in), _approval(away.team))


def test_who_no_longer_decides_has_no_stand_in(pair: tuple[Membership, Membership]) -> None:
    away, stand_in = pair
    for change in ({"role": Role.VIEWER}, {"role": Role.OPERATOR}):
        Membership.objects.filter(pk=away.pk).update(**change)
        assert not access.may_decide(_member(stand_in), _approval(away.team))
    User.objects.filter(pk=away.user_id).update(is_active=False)
    assert _member(stand_in).stands_in_for == ()


def test_a_stand_in_of_a_stand_in_gains_nothing(pair: tuple[Membership, Membership]) -> None:
    away, stand_in = pair
    third = MembershipFactory(team=away.team, role=Role.OPERATOR)
    AbsenceFactory(team=away.team, user=stand_in.user, stand_in=third.user)
    approval = _approval(away.team)
    assert not access.may_decide(_member(third), approval)
    assert third.user not in access.deciders(approval, NOW).users


def test_an_absence_from_one_team_says_nothing_in_another(
    pair: tuple[Membership, Membership],
) -> None:
    away, stand_in = pair
    elsewhere = MembershipFactory(user=away.user, role=Role.APPROVER).team
    there = MembershipFactory(team=elsewhere, user=stand_in.user, role=Role.OPERATOR)
    assert not access.may_decide(_member(there), _approval(elsewhere))


def test_four_eyes_keep_out_whoever_started_it_and_their_stand_in(
    pair: tuple[Membership, Membership],
) -> None:
    away, stand_in = pair
    by_away = _approval(away.team, away.user, four_eyes=True)
    assert not access.may_decide(_member(away), by_away)
    assert not access.may_decide(_member(stand_in), by_away)
    by_stand_in = _approval(away.team, stand_in.user, four_eyes=True)
    assert not access.may_decide(_member(stand_in), by_stand_in)
    assert access.acting_for(_member(stand_in), by_stand_in) is None
    assert access.deciders(by_stand_in, NOW).rights == {Right(away.user_id, None)}


def test_named_people_count_whatever_the_audience_is(pair: tuple[Membership, Membership]) -> None:
    away, named = pair[0], MembershipFactory(team=pair[0].team, role=Role.OPERATOR)
    for audience in Audience.values:
        approval = _approval(away.team, away.user, audience=audience)
        approval.people.set([named.user, MembershipFactory(team=away.team).user])
        assert access.may_decide(_member(named), approval)
        mine = Approval.objects.filter(access.put_to(_member(named)), pk=approval.pk)
        assert mine.count() == 1


def test_put_to_the_admins_approvers_do_not_decide(pair: tuple[Membership, Membership]) -> None:
    admin = MembershipFactory(team=pair[0].team, role=Role.ADMIN)
    approval = _approval(pair[0].team, audience=Audience.ADMINS)
    assert not access.may_decide(_member(pair[0]), approval)
    assert access.may_decide(_member(admin), approval)


def test_what_a_service_started_is_put_to_approvers_under_four_eyes_too() -> None:
    approver = MembershipFactory(role=Role.APPROVER)
    approval = _approval(approver.team, None, four_eyes=True)
    assert access.may_decide(_member(approver), approval)


def test_the_number_of_queries_does_not_grow_with_the_people_stood_in_for(
    pair: tuple[Membership, Membership], django_assert_num_queries: Any
) -> None:
    away, stand_in = pair
    for _ in range(5):
        other = MembershipFactory(team=away.team, role=Role.APPROVER)
        AbsenceFactory(team=away.team, user=other.user, stand_in=stand_in.user)
    approval = Approval.objects.select_related("operation").get(pk=_approval(away.team).pk)
    with django_assert_num_queries(3):
        member = _member(stand_in)
    assert len(member.stands_in_for) == 6
    with django_assert_num_queries(2):
        assert not _member(away).stands_in_for
    with django_assert_num_queries(1):
        assert access.may_decide(member, approval)
    with django_assert_num_queries(1):
        assert access.acting_for(member, approval)
    with django_assert_num_queries(3):
        who = access.deciders(approval, NOW)
        assert (len(who.users), len(who.rights), who.headcount) == (7, 12, 6)


@st.composite
def _teams(draw: Any) -> dict[str, Any]:
    """Five people (role, active), absences (who, stand-in, over), and an item put to some."""
    people = draw(st.lists(st.tuples(st.sampled_from(Role), st.booleans()), min_size=5, max_size=5))
    who = st.integers(0, 4)
    absences = draw(st.lists(st.tuples(who, who, st.booleans()), max_size=6))
    return {
        "people": people,
        "absences": [one for one in absences if one[0] != one[1]],
        "audience": draw(st.sampled_from(Audience)),
        "named": draw(st.sets(who)),
        "starter": draw(st.none() | who),
        "four_eyes": draw(st.booleans()),
    }


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(_teams())
def test_the_list_of_who_may_decide_agrees_with_asking_each_of_them(found: dict[str, Any]) -> None:
    team = TeamFactory()
    people = [
        MembershipFactory(team=team, role=role, user__is_active=active)
        for role, active in found["people"]
    ]
    for away, stand_in, over in found["absences"]:
        ends_at = NOW if over else NOW + HOUR
        AbsenceFactory(
            team=team,
            user=people[away].user,
            stand_in=people[stand_in].user,
            starts_at=NOW - HOUR,
            ends_at=ends_at,
        )
    starter = None if found["starter"] is None else people[found["starter"]].user
    approval = _approval(team, starter, audience=found["audience"], four_eyes=found["four_eyes"])
    approval.people.set([people[number].user for number in found["named"]])
    found_members = [access.member_in(one.user, team.pk, NOW) for one in people]
    members = [member for member in found_members if member]
    who = access.deciders(approval, NOW)
    rights = who.rights
    assert [who.include(m) for m in members] == [access.may_decide(m, approval) for m in members]
    deciding = {m.user_id: m for m in members if who.include(m)}
    listed = [user.pk for user in who.users]
    assert sorted(listed) == sorted(deciding) == sorted({right.user_id for right in rights})
    for user_id, member in deciding.items():
        for_whom = access.acting_for(member, approval)
        assert who.acting_for(member) == for_whom
        assert Right(user_id, for_whom.pk if for_whom else None) in rights
        assert (Right(user_id, None) in rights) is (for_whom is None)
    if found["four_eyes"] and starter:
        assert starter.pk not in {user_id for right in rights for user_id in right}


def test_without_a_time_it_is_as_of_now(pair: tuple[Membership, Membership]) -> None:
    away, stand_in = pair
    now = timezone.now()
    AbsenceFactory(
        team=away.team,
        user=away.user,
        stand_in=stand_in.user,
        starts_at=now - HOUR,
        ends_at=now + HOUR,
    )
    member = access.member_in(stand_in.user, away.team_id)
    assert member
    assert [one.user for one in member.stands_in_for] == [away.user]
    assert member.may(Permission.DECIDE)

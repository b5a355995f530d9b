"""Four eyes and quorum, attacked by people who stand in for each other."""

import pytest

from approvals.models import Approval, Vote
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Membership, Role, Team
from tests.approvals.attacks import Path, always, every_path, left, page_or_api, proof, untouched
from tests.approvals.conftest import Join
from tests.factories import NOW, AbsenceFactory

pytestmark = pytest.mark.django_db


@page_or_api
def test_a_person_and_their_stand_in_are_one_whoever_comes_first(
    item: Approval, approver: Member, team: Team, join: Join, path: Path
) -> None:
    stand_in = join(Role.OPERATOR)
    always(team, approver, stand_in)
    for member in (stand_in, approver, stand_in):
        path(item, member, proof(item, member), yes=True)
    assert not left(item)
    assert Vote.objects.get(user=stand_in.user).acted_for == approver.user
    other = join()
    path(item, other, proof(item, other), yes=True)
    assert left(item)


@page_or_api
def test_two_stand_ins_of_one_person_are_one(
    item: Approval, approver: Member, team: Team, join: Join, path: Path
) -> None:
    for _ in range(2):
        stand_in = join(Role.OPERATOR)
        always(team, approver, stand_in)
        path(item, stand_in, proof(item, stand_in), yes=True)
    assert Vote.objects.count() == 2
    assert not left(item)


@page_or_api
def test_a_stand_in_of_two_people_is_one(
    item: Approval, approver: Member, team: Team, join: Join, path: Path
) -> None:
    stand_in = join(Role.OPERATOR)
    for away in (approver, join()):
        always(team, away, stand_in)
    for _ in range(2):
        path(item, stand_in, proof(item, stand_in), yes=True)
    assert not left(item)


@page_or_api
def test_people_who_stand_in_for_each_other_gain_nothing(
    item: Approval, approver: Member, team: Team, join: Join, path: Path
) -> None:
    other = join(Role.OPERATOR)
    always(team, approver, other)
    always(team, other, approver)
    for member in (approver, other):
        path(item, member, proof(item, member), yes=True)
    assert not left(item)


@every_path
def test_a_stand_in_of_a_stand_in_says_nothing(
    item: Approval, approver: Member, team: Team, join: Join, path: Path
) -> None:
    second, third = join(Role.OPERATOR), join(Role.OPERATOR)
    always(team, approver, second)
    always(team, second, third)
    path(item, third, proof(item, third), yes=True)
    assert untouched(item)


@page_or_api
def test_a_stand_ins_yes_ends_with_the_absence(
    item: Approval, approver: Member, team: Team, join: Join, path: Path
) -> None:
    stand_in = join(Role.OPERATOR)
    absence = AbsenceFactory(
        team=team,
        user=approver.user,
        stand_in=stand_in.user,
        ends_at=NOW.replace(year=2099),
    )
    path(item, stand_in, proof(item, stand_in), yes=True)
    absence.ends_at = NOW
    absence.save()
    other = join()
    path(item, other, proof(item, other), yes=True)
    assert not left(item)


@page_or_api
def test_who_voted_in_their_own_right_and_lost_it_does_not_keep_the_vote_as_a_stand_in(
    item: Approval, approver: Member, team: Team, join: Join, path: Path
) -> None:
    own = join()
    path(item, own, proof(item, own), yes=True)
    Membership.objects.filter(user=own.user).update(role=Role.OPERATOR)
    always(team, approver, own)
    path(item, approver, proof(item, approver), yes=True)
    assert not left(item)


@page_or_api
def test_an_absence_that_is_set_after_the_vote_does_not_make_two_of_one(
    item: Approval, approver: Member, team: Team, join: Join, path: Path
) -> None:
    path(item, approver, proof(item, approver), yes=True)
    stand_in = join(Role.OPERATOR)
    always(team, approver, stand_in)
    path(item, stand_in, proof(item, stand_in), yes=True)
    assert not left(item)

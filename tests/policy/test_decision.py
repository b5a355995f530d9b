"""What votes come to: N distinct people, one refusal refuses, time never approves."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from approvals.policy import (
    Approved,
    Ask,
    AtDeadline,
    Ballot,
    Denied,
    Expired,
    Snapshot,
    Waiting,
    decision,
)
from tests.factories import NOW

STARTER = 1
DEADLINE = NOW + timedelta(hours=1)


def a_snapshot(
    quorum: int = 1,
    *,
    four_eyes: bool = True,
    deadline_at: datetime | None = None,
    at_deadline: AtDeadline = AtDeadline.EXPIRE,
) -> Snapshot:
    ask = Ask(quorum=quorum, four_eyes=four_eyes, at_deadline=at_deadline)
    return Snapshot(ask, frozenset({STARTER}), deadline_at)


def yes(user_id: int, minute: int = 0, acted_for: int | None = None) -> Ballot:
    return Ballot(user_id, True, NOW + timedelta(minutes=minute), acted_for)


def no(user_id: int, minute: int = 0) -> Ballot:
    return Ballot(user_id, False, NOW + timedelta(minutes=minute))


def test_nobody_has_voted_and_the_count_says_how_many_are_missing() -> None:
    assert decision(a_snapshot(2), [], NOW) == Waiting(0, 2)
    assert decision(a_snapshot(2), [yes(2)], NOW) == Waiting(1, 2)


def test_so_many_distinct_people_approve() -> None:
    assert decision(a_snapshot(2), [yes(2), yes(3)], NOW) == Approved((2, 3))


def test_a_person_counts_once() -> None:
    assert decision(a_snapshot(2), [yes(2), yes(2), yes(2)], NOW) == Waiting(1, 2)


def test_one_refusal_refuses() -> None:
    assert decision(a_snapshot(3), [yes(2), no(3)], NOW) == Denied(3)


def test_one_refusal_refuses_though_enough_had_approved_before_it() -> None:
    assert decision(a_snapshot(2), [yes(2, 0), yes(3, 1), no(4, 2)], NOW) == Denied(4)


def test_whoever_started_it_neither_approves_nor_counts_under_four_eyes() -> None:
    assert decision(a_snapshot(), [yes(STARTER)], NOW) == Waiting(0, 1)
    assert decision(a_snapshot(four_eyes=False), [yes(STARTER)], NOW) == Approved((STARTER,))


def test_a_person_and_whoever_stands_in_for_them_count_once_together() -> None:
    assert decision(a_snapshot(2), [yes(2), yes(3, acted_for=2)], NOW) == Waiting(1, 2)
    assert decision(a_snapshot(2), [yes(3, acted_for=2), yes(2)], NOW) == Waiting(1, 2)
    assert decision(a_snapshot(2), [yes(3, acted_for=2), yes(4, acted_for=2)], NOW) == Waiting(1, 2)
    assert decision(a_snapshot(2), [yes(3, acted_for=2), yes(4)], NOW) == Approved((3, 4))


def test_under_four_eyes_nobody_acts_for_the_starter_nor_the_starter_for_anybody() -> None:
    by_stand_in, by_starter = yes(2, acted_for=STARTER), yes(STARTER, acted_for=2)
    assert decision(a_snapshot(), [by_stand_in, by_starter], NOW) == Waiting(0, 1)
    assert decision(a_snapshot(four_eyes=False), [by_stand_in], NOW) == Approved((2,))


def test_a_stand_in_refuses_as_well_as_anybody() -> None:
    refusal = Ballot(3, False, NOW, acted_for=2)
    assert decision(a_snapshot(2), [yes(2), refusal], NOW) == Denied(3)


def test_the_deadline_expires_or_denies_without_naming_anybody() -> None:
    assert decision(a_snapshot(deadline_at=DEADLINE), [], DEADLINE) == Expired()
    denies = a_snapshot(deadline_at=DEADLINE, at_deadline=AtDeadline.DENY)
    assert decision(denies, [], DEADLINE) == Denied(None)
    assert decision(denies, [], DEADLINE - timedelta(microseconds=1)) == Waiting(0, 1)


def test_a_vote_at_the_deadline_comes_too_late() -> None:
    assert decision(a_snapshot(deadline_at=DEADLINE), [yes(2, 60)], DEADLINE) == Expired()
    assert decision(a_snapshot(deadline_at=DEADLINE), [yes(2, 59)], DEADLINE) == Approved((2,))


_ballots = st.lists(
    st.builds(
        Ballot,
        user_id=st.integers(1, 5),
        approves=st.booleans(),
        at=st.integers(0, 120).map(lambda minute: NOW + timedelta(minutes=minute)),
        acted_for=st.none() | st.integers(1, 5),
    ),
    max_size=12,
)
_snapshots = st.builds(
    a_snapshot,
    st.integers(1, 4),
    four_eyes=st.booleans(),
    deadline_at=st.none() | st.just(DEADLINE),
    at_deadline=st.sampled_from(AtDeadline),
)


@given(_snapshots, _ballots, st.integers(0, 180))
def test_it_is_approved_only_by_enough_distinct_people_in_time(
    snapshot: Snapshot, ballots: list[Ballot], minute: int
) -> None:
    now = NOW + timedelta(minutes=minute)
    found = decision(snapshot, ballots, now)
    if isinstance(found, Approved):
        limit = snapshot.deadline_at or datetime.max.replace(tzinfo=UTC)
        in_time = {b.user_id for b in ballots if b.approves and b.at < limit}
        assert len(set(found.by)) == len(found.by) >= snapshot.ask.quorum
        assert set(found.by) <= in_time
        assert not (snapshot.ask.four_eyes and STARTER in found.by)


@given(_snapshots, _ballots, st.integers(6, 9))
def test_with_a_refusal_that_counts_nothing_is_approved(
    snapshot: Snapshot, ballots: list[Ballot], refuses: int
) -> None:
    now = NOW + timedelta(minutes=120)
    last = Ballot(refuses, False, NOW + timedelta(minutes=59))
    assert isinstance(decision(snapshot, [*ballots, last], now), Denied)


@given(_snapshots, _ballots)
def test_no_two_of_those_who_count_have_spoken_for_the_same_person(
    snapshot: Snapshot, ballots: list[Ballot]
) -> None:
    found = decision(snapshot, ballots, NOW + timedelta(minutes=120))
    if isinstance(found, Approved):
        # some choice of one ballot for each of them shares nobody, and not the starter
        assert _apart(found.by, ballots, {STARTER} if snapshot.ask.four_eyes else set())


def _apart(voters: tuple[int, ...], ballots: list[Ballot], taken: set[int]) -> bool:
    if not voters:
        return True
    theirs = [one for one in ballots if one.user_id == voters[0] and one.approves]
    return any(
        taken.isdisjoint(one.people) and _apart(voters[1:], ballots, taken | one.people)
        for one in theirs
    )


@given(_snapshots, _ballots)
def test_time_alone_never_approves(snapshot: Snapshot, ballots: list[Ballot]) -> None:
    now = NOW + timedelta(minutes=120)
    if not isinstance(decision(snapshot, ballots, now), Approved):
        later = now + timedelta(days=1000)
        assert not isinstance(decision(snapshot, ballots, later), Approved)


@given(_snapshots, _ballots)
def test_saying_everything_twice_changes_nothing(snapshot: Snapshot, ballots: list[Ballot]) -> None:
    now = NOW + timedelta(minutes=120)
    twice = [ballot for ballot in ballots for _ in range(2)]
    assert decision(snapshot, ballots, now) == decision(snapshot, twice, now)

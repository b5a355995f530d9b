"""What a team keeps: bounds, the change on record, pruning of the log by it."""

from datetime import timedelta

import pytest
from django.core.exceptions import PermissionDenied
from hypothesis import given
from hypothesis import strategies as st

from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.models import Membership, Team
from mcpdesk.audit import pruning
from mcpdesk.audit.log import Actor
from mcpdesk.audit.models import Event, Seal
from mcpdesk.audit.sealing import seal_due
from mcpdesk.audit.verifying import steps
from mcpdesk.keeping import holds, runs, settings
from mcpdesk.keeping.due import going
from mcpdesk.keeping.settings import Kept
from tests.engine.racing import locks_off, while_demoted
from tests.factories import NOW, OperationFactory

pytestmark = pytest.mark.django_db(transaction=True)

LATER = NOW + timedelta(days=91)
EVEN_LATER = LATER + timedelta(days=1)


def test_a_team_keeps_everything_for_ever_until_it_says_otherwise(team: Team, actor: Actor) -> None:
    assert settings.of(team.pk) == Kept(None, None)
    settings.change(team, Kept(30, None), actor=actor, now=NOW)
    assert settings.of(team.pk) == Kept(30, None)
    settings.change(team, Kept(None, 365), actor=actor, now=NOW)
    assert settings.of(team.pk) == Kept(None, 365)


def test_a_change_is_an_event_with_what_was_before_and_the_same_again_is_none(
    team: Team, actor: Actor
) -> None:
    assert settings.change(team, Kept(30, 365), actor=actor, now=NOW)
    assert not settings.change(team, Kept(30, 365), actor=actor, now=NOW)
    event = Event.objects.get(kind="retention.changed")
    assert event.data == {
        "payloads": "30 days",
        "payloads_before": "for ever",
        "log": "365 days",
        "log_before": "for ever",
    }
    assert event.sentence.startswith("Nina Köhler set how long")


@pytest.mark.parametrize("kept", [Kept(6, None), Kept(None, 89), Kept(36_501, None), Kept(0, 0)])
def test_what_is_too_short_or_too_long_is_refused(team: Team, actor: Actor, kept: Kept) -> None:
    with pytest.raises(Refused, match="kept for"):
        settings.change(team, kept, actor=actor, now=NOW)
    assert settings.of(team.pk) == Kept()


def test_who_is_demoted_at_that_moment_sets_nothing_and_is_told(team: Team, actor: Actor) -> None:
    told = while_demoted(
        Membership.objects.get(),
        lambda: settings.change(team, Kept(30, None), actor=actor, now=NOW),
    )
    assert isinstance(told, PermissionDenied) and "does not allow you" in str(told)
    assert settings.of(team.pk) == Kept()


def test_control_without_the_lock_who_is_demoted_sets_it(team: Team, actor: Actor) -> None:
    with locks_off():
        while_demoted(
            Membership.objects.get(),
            lambda: settings.change(team, Kept(30, None), actor=actor, now=NOW),
        )
    assert settings.of(team.pk) == Kept(30, None)


@given(days=st.one_of(st.none(), st.integers()))
def test_only_what_lies_between_the_bounds_is_accepted(days: int | None) -> None:
    try:
        settings.check(Kept(payload_days=days))
    except Refused:
        assert days is not None and not 7 <= days <= 36_500
    else:
        assert days is None or 7 <= days <= 36_500


class TestTheLog:
    @pytest.fixture
    def sealed(self, team: Team, actor: Actor) -> Team:
        settings.change(team, Kept(None, 90), actor=actor, now=NOW)
        seal_due(NOW)
        return team

    def test_old_batches_go_and_the_chain_is_whole(self, sealed: Team) -> None:
        assert runs.run(sealed, LATER) == runs.Ran(0, 1)
        assert Seal.objects.get().pruned_at == LATER
        event = Event.objects.get()
        assert (event.kind, event.data) == ("retention.log_pruned", {"events": 1, "days": 90})
        seal_due(LATER)
        assert [found for step in steps(sealed.pk) for found in step.findings] == []

    def test_once(self, sealed: Team) -> None:
        runs.run(sealed, LATER)
        assert runs.run(sealed, LATER) == runs.Ran(0, 0)
        assert Event.objects.count() == 1

    @pytest.fixture
    def two_batches(self, sealed: Team, actor: Actor) -> Team:
        settings.change(sealed, Kept(None, 91), actor=actor, now=NOW)
        seal_due(NOW)
        return sealed

    def test_a_run_whose_time_is_over_leaves_the_rest_for_the_next_one(
        self, two_batches: Team
    ) -> None:
        turns = iter([True, False])
        assert runs.run(two_batches, EVEN_LATER, go_on=lambda: next(turns)) == runs.Ran(0, 1)
        assert runs.run(two_batches, EVEN_LATER) == runs.Ran(0, 1)

    def test_what_went_is_on_record_also_where_the_rest_is_refused(
        self, two_batches: Team, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Somebody begins to seal the log after the first of two batches went."""
        turns = iter([True, False])
        monkeypatch.setattr(pruning, "have_chain", lambda team_id: next(turns))
        assert runs.run(two_batches, EVEN_LATER) == runs.Ran(0, 1)
        event = Event.objects.get(kind="retention.log_pruned")
        assert event.data == {"events": 1, "days": 91}

    def test_nothing_goes_before_its_time_or_under_a_hold(self, sealed: Team, actor: Actor) -> None:
        assert runs.run(sealed, LATER - timedelta(days=1)).events == 0
        holds.begin(sealed, None, reason="court", actor=actor, now=NOW)
        assert runs.run(sealed, LATER).events == 0

    def test_a_hold_of_an_operation_keeps_its_part_and_what_is_newer(
        self, sealed: Team, actor: Actor
    ) -> None:
        operation = OperationFactory(server__team=sealed)
        holds.begin(sealed, operation.pk, reason="court", actor=actor, now=NOW)
        seal_due(NOW)
        assert runs.run(sealed, LATER).events == 1
        assert Event.objects.filter(kind="legal_hold.begun").exists()

    def test_the_dry_run_says_which_events_would_go(self, sealed: Team) -> None:
        found = going(sealed, None, 90, LATER)
        assert (found.log.events, found.log.seals) == (1, 1)
        assert (found.log.oldest, found.log.newest) == (NOW, NOW)
        assert found.anything and Event.objects.count() == 1
        assert not going(sealed, None, 91, LATER).anything

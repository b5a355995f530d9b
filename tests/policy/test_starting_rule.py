"""What a desk starts with: nobody is locked out, an upgrade changes nothing, others ask."""

from importlib import import_module

import pytest
from django.apps import apps

from approvals import policies
from approvals.policies import STARTING_RULE
from mcpdesk.accounts.models import Team
from mcpdesk.audit.models import Event
from mcpdesk.embedded.first_admin import ensure_first_admin
from tests.factories import TeamFactory

pytestmark = pytest.mark.django_db

migration = import_module("approvals.migrations.0004_starting_rule")


def the_rule(team: Team) -> list[tuple[str, str]]:
    return [(rule["name"], rule["effect"]) for rule in policies.active(team.pk)]


def test_the_team_of_a_new_desk_may_start_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCPDESK_ADMIN_EMAIL", "first@example.test")
    monkeypatch.setenv("MCPDESK_ADMIN_PASSWORD", "correct horse battery")
    ensure_first_admin()

    assert the_rule(Team.objects.get()) == [(STARTING_RULE["name"], "allow")]
    assert Event.objects.get(kind="policy.added").actor_name == "first@example.test"


def test_a_team_from_before_the_gate_keeps_what_it_had() -> None:
    teams = TeamFactory.create_batch(2)
    migration.give_starting_rule(apps, None)

    assert STARTING_RULE["name"] == migration.NAME
    for team in teams:
        assert the_rule(team) == [(migration.NAME, "allow")]
        assert Event.objects.get(team=team).sentence


def test_any_other_team_begins_without_a_rule() -> None:
    assert the_rule(TeamFactory()) == []

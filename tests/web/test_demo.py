"""The demo's data, made against the real simulator."""

import pytest
from django.core.management import call_command
from django.test import Client

from approvals.models import Approval, PolicyRule
from mcpdesk.accounts.models import Membership, User
from mcpdesk.audit.models import Event
from mcpdesk.web import demo
from tasks_monitor.models import Operation, Server
from tests.conftest import SimulatorProcess

pytestmark = pytest.mark.django_db


def test_every_sign_in_works(simulator: SimulatorProcess) -> None:
    demo.seed(simulator.url)
    for _, email, password in demo.SIGN_INS:
        response = Client().post("/accounts/login/", {"login": email, "password": password})
        assert response.status_code == 302


def test_the_demos_operations_are_about_tools_that_the_simulator_has(
    simulator: SimulatorProcess,
) -> None:
    demo.seed(simulator.url)
    server = Server.objects.get()
    listed = set(server.tools.filter(problem="").values_list("name", flat=True))
    started = set(Operation.objects.values_list("tool_name", flat=True))
    assert len(started) >= 8
    assert started <= listed


def test_seeding_again_keeps_the_data_and_starts_nothing_again(
    simulator: SimulatorProcess,
) -> None:
    demo.seed(simulator.url)
    User.objects.filter(email="operator@demo.example").update(name="Renamed")
    before = (Membership.objects.count(), Operation.objects.count())
    demo.seed(simulator.url)
    assert (Membership.objects.count(), Operation.objects.count()) == before
    assert User.objects.filter(name="Renamed").exists()
    made = ("operation.started", "operation.requested")
    assert Event.objects.filter(kind__in=made).count() == before[1]
    assert Event.objects.filter(kind="policy.added").count() == PolicyRule.objects.count()


def test_what_an_admin_did_to_the_demos_rules_stays(simulator: SimulatorProcess) -> None:
    demo.seed(simulator.url)
    PolicyRule.objects.all().delete()
    demo.seed(simulator.url)
    assert not PolicyRule.objects.exists()


def test_what_cannot_be_undone_waits_at_the_gate_and_the_rest_runs(
    simulator: SimulatorProcess,
) -> None:
    demo.seed(simulator.url)
    waits = Operation.objects.filter(state="awaiting_approval").values_list("tool_name", flat=True)
    assert set(waits) == {"deploy_project", "purge_partition", "issue_refund"}
    assert Approval.objects.filter(kind="gate", state="open").count() == 3
    assert Operation.objects.filter(state="ready").count() == Operation.objects.count() - 3


def test_the_outsider_sees_nothing_of_it(simulator: SimulatorProcess) -> None:
    demo.seed(simulator.url)
    client = Client()
    client.force_login(User.objects.get(email="outsider@demo.example"))
    for operation in Operation.objects.all():
        assert client.get(f"/operations/{operation.pk}/").status_code == 404
    assert "workshop" not in client.get("/servers/").content.decode()


def test_the_command_prints_the_sign_ins(
    simulator: SimulatorProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("seed_demo", "--simulator", simulator.url)
    printed = capsys.readouterr().out
    for role, email, password in demo.SIGN_INS:
        assert f"{role} " in printed
        assert email in printed
        assert password in printed

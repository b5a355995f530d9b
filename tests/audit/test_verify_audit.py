"""./desk verify_audit: what it says, and how it exits."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from mcpdesk.accounts.models import Team
from mcpdesk.audit.anchors import exported_seals
from mcpdesk.audit.models import Event
from mcpdesk.audit.pruning import prune
from tests.audit.conftest import Happen, attack, seal
from tests.factories import NOW, TeamFactory

pytestmark = pytest.mark.django_db


def verify(*arguments: str) -> tuple[int, str]:
    """Its exit status, and what it printed."""
    printed = io.StringIO()
    with pytest.raises(SystemExit) as end:
        call_command("verify_audit", *arguments, stdout=printed)
    return int(str(end.value.code)), printed.getvalue()


@pytest.fixture
def log(happen: Happen) -> list[int]:
    happen(3)
    seal()
    happen(2)
    seal()
    return list(Event.objects.order_by("id").values_list("id", flat=True))


def test_a_whole_log_is_said_to_be_whole_up_to_its_last_seal(log: list[int], team: Team) -> None:
    assert verify() == (
        0,
        f"{team.slug}: sealed and verified up to 2026-11-29T14:00:00.000000Z: 2 seals, 5 events\n",
    )


def test_a_changed_line_is_named_with_its_time_and_seal(log: list[int], team: Team) -> None:
    attack("UPDATE audit_event SET channel = 'api' WHERE id = %s", log[1])
    status, printed = verify()
    assert status == 1
    assert printed == (
        f"{team.slug}: Event {log[1]} of 2026-11-29T14:00:01.000000Z (seal 1): "
        "it was changed after it was sealed\n"
    )


def test_many_findings_are_counted_after_the_first(
    log: list[int], team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcpdesk.audit.management.commands.verify_audit.SHOWN", 2)
    attack("DELETE FROM audit_event")
    assert verify()[1].splitlines()[-1] == f"{team.slug}: and 3 more"


def test_one_team_alone(log: list[int], team: Team) -> None:
    other = TeamFactory()
    attack("UPDATE audit_event SET channel = 'api' WHERE id = %s", log[1])
    assert verify("--team", other.slug) == (0, f"{other.slug}: nothing is sealed yet\n")
    assert verify()[0] == 1
    with pytest.raises(CommandError, match="no team nobody") as error:
        call_command("verify_audit", "--team", "nobody")
    assert error.value.returncode == 2


@pytest.mark.django_db(transaction=True)
def test_what_was_pruned_is_no_fault(log: list[int], team: Team) -> None:
    prune(team, NOW.replace(year=2030))
    assert verify()[1].endswith("2 seals, 0 events, 2 seals whose events were pruned\n")


def test_for_machines(log: list[int], team: Team) -> None:
    attack("DELETE FROM audit_event WHERE id = %s", log[4])
    status, printed = verify("--json")
    found: dict[str, Any] = json.loads(printed)
    assert status == 1
    assert (found["team"], found["whole"]) == (team.slug, False)
    assert (found["seals"], found["found"]) == (2, 1)
    assert found["findings"][0]["event"] == log[4]
    assert found["findings"][0]["fault"] == "missing"


class TestAnchor:
    @pytest.fixture
    def anchor(self, log: list[int], team: Team, tmp_path: Path) -> Path:
        path = tmp_path / "seals.ndjson"
        path.write_bytes(b"".join(exported_seals(team, NOW)))
        return path

    def test_a_log_that_went_on_still_holds_it(self, anchor: Path, happen: Happen) -> None:
        happen()
        seal()
        assert verify("--anchor", str(anchor))[0] == 0

    def test_a_truncated_tail_is_named(self, anchor: Path, team: Team, log: list[int]) -> None:
        attack("DELETE FROM audit_seal WHERE number = 2")
        attack("DELETE FROM audit_event WHERE id >= %s", log[3])
        assert verify()[0] == 0
        status, printed = verify("--anchor", str(anchor))
        assert status == 1
        assert printed.startswith(f"{team.slug}: Seal 2: the log was truncated")

    def test_a_file_that_is_something_else_is_refused(self, log: list[int], tmp_path: Path) -> None:
        for content in (b"{}\n", b"nonsense"):
            path = tmp_path / "other"
            path.write_bytes(content)
            with pytest.raises(CommandError, match="no export of seals") as error:
                call_command("verify_audit", "--anchor", str(path))
            assert error.value.returncode == 2

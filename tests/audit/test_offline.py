"""docs/verify_offline.py over real exports: no code of the product in it, and the same verdicts."""

import base64
import hashlib
import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from docs import verify_offline
from mcpdesk.accounts.models import Team, User
from mcpdesk.audit import signing
from mcpdesk.audit.anchors import exported_events, exported_seals
from mcpdesk.audit.canonical import moment
from mcpdesk.audit.erasing import erase_names
from mcpdesk.audit.models import Event
from mcpdesk.audit.pruning import prune
from tests.audit.conftest import Happen, attack, seal
from tests.conftest import CHECKOUT
from tests.factories import NOW

pytestmark = pytest.mark.django_db(transaction=True)

NOT_NAMED = "The file does not name the key that is given, or none"
OTHER_KEY = "b3RoZXIta2V5LW9ubHktb3RoZXIta2V5LW9ubHktb3Q="


class Files:
    """The two exports of a team, and what the script says of them."""

    def __init__(self, team: Team, folder: Path) -> None:
        self.team = team
        self.seals, self.events = folder / "seals.ndjson", folder / "events.ndjson"

    def export(self) -> None:
        self.seals.write_bytes(b"".join(exported_seals(self.team, NOW)))
        self.events.write_bytes(b"".join(exported_events(self.team, NOW)))

    def verify(self, *arguments: str) -> str:
        """What it prints; it runs without any package."""
        command = [sys.executable, "-I", "-S", str(CHECKOUT / "docs/verify_offline.py")]
        ran = subprocess.run(
            [*command, str(self.seals), *arguments], capture_output=True, text=True, timeout=60
        )
        assert ran.returncode == (0 if ran.stdout else 1), ran.stderr
        return (ran.stdout or ran.stderr).strip()


@pytest.fixture
def files(happen: Happen, team: Team, tmp_path: Path) -> Files:
    for number, count in enumerate((3, 1, 3)):
        happen(count, at=NOW + timedelta(days=number))
        seal(NOW + timedelta(days=number))
    happen(1)
    found = Files(team, tmp_path)
    found.export()
    return found


def test_an_untouched_export_is_whole(files: Files, settings: Any) -> None:
    public = signing.text_of(signing.public_of(settings.SEAL_KEY))
    assert files.verify(str(files.events), public).startswith("Whole: 3 seals, 7 events, keys ")
    whole = files.verify()
    assert whole.startswith("Whole: 3 seals, no file of events")
    # whose log, and how much of it: another team's, or an older one, is whole as well
    assert whole.endswith(f", team {files.team.pk}, up to '{moment(NOW + timedelta(days=2))}'")


def test_another_key_than_the_one_that_was_written_down_is_not_believed(files: Files) -> None:
    other = signing.text_of(signing.public_of(OTHER_KEY))
    assert files.verify(str(files.events), other) == NOT_NAMED
    head, *seals = files.seals.read_text().splitlines()
    named = {**json.loads(head), "keys": {"0123456789abcdef": other}}
    files.seals.write_text("\n".join([json.dumps(named), *seals]))
    for key in ([], [str(files.events), other]):
        assert files.verify(*key) == "Seal 1 was changed, or signed with another key"


def test_a_log_with_an_erased_person_and_pruned_batches_is_whole(
    files: Files, team: Team, nina: User
) -> None:
    erase_names(nina)
    prune(team, NOW + timedelta(hours=1), NOW)
    files.export()
    assert "Nina" not in files.events.read_text()
    assert files.verify(str(files.events)).startswith("Whole: 3 seals, 4 events")


ATTACKS: dict[str, tuple[str, str]] = {
    "a changed event": (
        "UPDATE audit_event SET channel = 'api' WHERE id = {1}",
        "Event {1} at 2026-11-29T14:00:01.000000Z (seal 1) was changed or reordered",
    ),
    "a changed name": (
        "UPDATE audit_event SET actor_name = 'Nino' WHERE id = {0}",
        "Event {0} at 2026-11-29T14:00:00.000000Z (seal 1) was changed or reordered",
    ),
    "a changed name in the data": (
        'UPDATE audit_event SET data = data || \'{{"person": "X"}}\' WHERE id = {3}',
        "Event {3} at 2026-11-30T14:00:00.000000Z (seal 2) was changed or reordered",
    ),
    "a missing event": (
        "DELETE FROM audit_event WHERE id = {2}",
        "Event {2} (seal 1) is missing",
    ),
    "an added event": (
        "UPDATE audit_event SET id = {0} - 1 WHERE id = {7}",
        "Event {before} at 2026-11-29T14:00:00.000000Z (seal 1) was added",
    ),
    "a changed seal": (
        "UPDATE audit_seal SET sealed_at = now() WHERE number = 2",
        "Seal 2 was changed, or signed with another key",
    ),
    "changed lines of a seal": (
        "UPDATE audit_seal SET lines = set_byte(lines, 9, 1) WHERE number = 3",
        "Seal 3 was changed, or signed with another key",
    ),
    "a missing seal": (
        "DELETE FROM audit_seal WHERE number = 2",
        "Seal 2 is missing, or not the one that followed",
    ),
    "a false mark of pruning": (
        "UPDATE audit_seal SET pruned_at = now(), pruned_signature = signature WHERE number = 1",
        "The events of seal 1 are gone, and nobody signed for that",
    ),
}


@pytest.mark.parametrize("attacked", ATTACKS)
def test_what_was_tampered_with_is_named(files: Files, attacked: str) -> None:
    sql, words = ATTACKS[attacked]
    ids = list(Event.objects.order_by("id").values_list("id", flat=True))
    attack(sql.format(*ids))
    files.export()
    assert files.verify(str(files.events)) == words.format(*ids, before=ids[0] - 1)


def test_a_file_that_was_edited_is_named(files: Files) -> None:
    lines = files.events.read_text().splitlines(keepends=True)
    first = next(n for n, line in enumerate(lines) if '"task.changed"' in line)
    files.events.write_text("".join([*lines[:first], *lines[first + 1 :]]))
    assert files.verify(str(files.events)).endswith("(seal 1) is missing")


@settings(max_examples=15, deadline=None)
@given(st.binary(min_size=32, max_size=32), st.binary(max_size=64), st.integers(0, 511))
def test_its_signatures_are_those_of_rfc_8032(seed: bytes, message: bytes, bit: int) -> None:
    private = Ed25519PrivateKey.from_private_bytes(seed)
    public, signature = private.public_key().public_bytes_raw(), private.sign(message)
    assert verify_offline.is_signed(message, signature, public)
    torn = int.from_bytes(signature, "little") ^ (1 << bit)
    assert not verify_offline.is_signed(message, torn.to_bytes(64, "little"), public)
    assert not verify_offline.is_signed(message + b".", signature, public)


def test_nobody_signs_for_a_key_that_the_file_does_not_name(files: Files, settings: Any) -> None:
    """What stands for an unknown key must be no key: 32 zeros are a point of order 4, whose
    signatures anybody can make.
    """
    head, first, *_ = files.seals.read_text().splitlines()
    value = json.loads(first)
    value["seal"]["key"], value["seal"]["count"] = "nobody", 0
    value["lines"], value["seal"]["lines"] = "", hashlib.sha256(b"").hexdigest()
    message = b"mcpdesk seal 1\n" + verify_offline.canonical(value["seal"])
    forged = (_without_a_key(nonce) for nonce in range(1, 200))
    signature = next(one for one in forged if verify_offline.is_signed(message, one, bytes(32)))
    value["signature"] = signature.hex()
    files.seals.write_text(f"{head}\n{json.dumps(value)}\n")
    public = signing.text_of(signing.public_of(settings.SEAL_KEY))
    for key in ([], [str(files.events), public]):
        assert files.verify(*key) == "Seal 1 was changed, or signed with another key"


def _without_a_key(nonce: int) -> bytes:
    """R and s with sB = R: holds for whichever message's hash takes the key to nothing."""
    x, y, z, _ = verify_offline.times(nonce, verify_offline.BASE)
    over = pow(z, verify_offline.P - 2, verify_offline.P)
    x, y = x * over % verify_offline.P, y * over % verify_offline.P
    return (y | (x & 1) << 255).to_bytes(32, "little") + nonce.to_bytes(32, "little")


def test_what_it_says_steers_no_terminal(files: Files) -> None:
    """The file may be an attacker's: names of keys and times are theirs."""
    head, *seals = files.seals.read_text().splitlines()
    named = json.loads(head)
    named["keys"] = {f"\x1b[2J{name}": key for name, key in named["keys"].items()}
    files.seals.write_text("\n".join([json.dumps(named), *seals]))
    assert files.verify().isprintable()
    events = files.events.read_text()
    files.events.write_text(events.replace('"at":"2026-11-3', '"at":"\\u001b[2J2026-11-3'))
    assert files.verify(str(files.events)).isprintable()


def test_a_file_without_the_key_that_was_written_down_is_not_whole(files: Files) -> None:
    """Not even one that holds no seal that could be wrong."""
    files.seals.write_text(files.seals.read_text().splitlines()[0] + "\n")
    other = signing.text_of(signing.public_of(OTHER_KEY))
    assert files.verify(str(files.events), other) == NOT_NAMED


def test_it_reads_what_the_pages_hand_out(files: Files) -> None:
    """The fields of both files are those of docs/audit.md."""
    seals = [json.loads(line) for line in files.seals.read_text().splitlines()]
    assert seals[0].keys() == {"what", "team", "at", "keys"}
    assert seals[1].keys() == {"seal", "lines", "digest", "signature"}
    assert len(base64.b64decode(seals[1]["lines"])) == 3 * 16
    events = [json.loads(line) for line in files.events.read_text().splitlines()]
    people = [line for line in events if "person" in line]
    assert all(line.keys() == {"person", "salt"} for line in people)
    assert len(people) == 2


@pytest.mark.parametrize("arguments", [[], ["/nowhere"], [__file__], ["a", "b", "c", "d"]])
def test_what_cannot_be_read_is_told_from_what_is_not_whole(arguments: list[str]) -> None:
    command = [sys.executable, "-I", "-S", str(CHECKOUT / "docs/verify_offline.py")]
    ran = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 2
    assert ran.stderr.startswith("Not verified: ")
    assert "SEALS [EVENTS] [KEY]" in ran.stderr


def test_it_is_about_a_page() -> None:
    assert len((CHECKOUT / "docs/verify_offline.py").read_text().splitlines()) <= 146

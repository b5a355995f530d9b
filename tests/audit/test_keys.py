"""The key of the seals: made once beside the others, rotated, and refused where it is none."""

from pathlib import Path
from typing import Any

import pytest

from mcpdesk.audit import signing
from mcpdesk.checks import configuration
from mcpdesk.embedded.keys import generate_keys, generate_seal_key, read_keys, read_seal_keys


def found(settings: Any, **values: Any) -> list[str]:
    """The ids of the errors in these settings."""
    for name, value in values.items():
        setattr(settings, name, value)
    return [str(message.id) for message in configuration() if message.is_serious()]


GOOD = "b3RoZXIta2V5LW9ubHktb3RoZXIta2V5LW9ubHktb3Q="


class TestGenerated:
    def test_it_is_for_its_owner_alone_and_can_sign(self, tmp_path: Path) -> None:
        keys = generate_seal_key(tmp_path)
        assert read_seal_keys(tmp_path) == keys
        assert all(f.stat().st_mode & 0o077 == 0 for f in (tmp_path / "secrets").iterdir())
        assert keys.public == (signing.text_of(signing.public_of(keys.private)),)
        assert keys.private not in repr(keys)

    def test_one_that_was_deleted_leaves_its_public_half(self, tmp_path: Path) -> None:
        first = generate_seal_key(tmp_path)
        (tmp_path / "secrets/seal_key").unlink()
        assert read_seal_keys(tmp_path) is None
        second = generate_seal_key(tmp_path)
        assert second.private != first.private
        assert second.public[0] == first.public[0]
        assert len(second.public) == 2

    def test_a_desk_from_before_the_seals_gets_one_and_keeps_its_other_keys(
        self, tmp_path: Path
    ) -> None:
        before = generate_keys(tmp_path)
        (tmp_path / "postgres").mkdir()
        generate_seal_key(tmp_path)
        assert read_keys(tmp_path) == before


class TestChecks:
    def test_without_a_key_nothing_starts(self, settings: Any) -> None:
        assert found(settings, SEAL_KEY="") == ["mcpdesk.E020"]

    @pytest.mark.parametrize("key", ["short", "!" * 44, GOOD[:-4], "é" * 44])
    def test_what_is_no_key_is_refused(self, settings: Any, key: str) -> None:
        assert found(settings, SEAL_KEY=key) == ["mcpdesk.E021"]
        assert found(settings, SEAL_KEY=GOOD, SEAL_PUBLIC_KEYS=[GOOD, key]) == ["mcpdesk.E022"]

    def test_keys_are_taken(self, settings: Any) -> None:
        assert found(settings, SEAL_KEY=GOOD, SEAL_PUBLIC_KEYS=[GOOD]) == []


def test_a_signature_is_of_one_message_and_one_key(settings: Any) -> None:
    settings.SEAL_KEY = GOOD
    signer, public = signing.signer(), signing.public_of(GOOD)
    signature = signer.sign(b"this")
    assert signing.is_signed(b"this", signature, public)
    assert not signing.is_signed(b"that", signature, public)
    assert not signing.is_signed(b"this", signature[:-1], public)
    assert not signing.is_signed(b"this", signature, bytes(32))
    assert signer.key_id == signing.key_id(public)

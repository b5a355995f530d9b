import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpdesk.simulator.protocol import RpcError
from mcpdesk.simulator.sealing import Rounds, Sealer, digest

CALL = digest("tools/call", "tool", {"a": 1})
ROUNDS = Rounds(2, {"key": {"action": "decline"}}, ("a", "b"), "id-7")


def test_what_was_sealed_comes_back():
    sealer = Sealer("seed")
    assert sealer.open(sealer.seal(ROUNDS, CALL, 100), CALL, 99) == ROUNDS


@given(st.integers(0), st.integers(1, 255))
def test_a_state_with_any_byte_changed_is_refused(at, change):
    sealer = Sealer("seed")
    raw = bytearray(base64.urlsafe_b64decode(sealer.seal(ROUNDS, CALL, 100)))
    raw[at % len(raw)] ^= change
    with pytest.raises(RpcError, match="integrity"):
        sealer.open(base64.urlsafe_b64encode(raw).decode(), CALL, 0)


@given(st.one_of(st.text(), st.integers(), st.none(), st.lists(st.integers())))
def test_whatever_else_is_presented_is_refused(state):
    with pytest.raises(RpcError, match="integrity"):
        Sealer("seed").open(state, CALL, 0)


def test_the_digest_is_of_the_whole_call():
    others = [
        ("prompts/get", "tool", {"a": 1}),
        ("tools/call", "t", {"a": 1}),
        ("tools/call", "tool", {}),
    ]
    assert CALL not in {digest(*other) for other in others}

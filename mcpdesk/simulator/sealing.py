"""requestState: everything a round leaves behind, sealed so that any instance can go on with it.

The client must treat the string as opaque and give it back byte for byte (spec: basic/patterns/
mrtr). It carries an HMAC, an expiry and a digest of the call, so that a changed string, a late one
and one presented with another call are told apart.
"""

import base64
import hashlib
import hmac
import json
from dataclasses import dataclass

from mcpdesk.simulator.protocol import INVALID_PARAMS, Json, RpcError


def digest(method: str, name: str, arguments: Json) -> str:
    """Short digest of the call that a state belongs to."""
    text = json.dumps([method, name, arguments], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Rounds:
    """What earlier rounds of a call came to.

    `number` counts finished rounds, `answers` are the responses by key, `instances` the names of
    the instances that served the rounds, `request_id` the JSON-RPC id of the latest one.
    """

    number: int = 0
    answers: Json | None = None
    instances: tuple[str, ...] = ()
    request_id: str | int | None = None


class Sealer:
    """Seals and opens requestState with a key made from the seed."""

    def __init__(self, seed: str) -> None:
        self._key = hashlib.sha256(f"requestState:{seed}".encode()).digest()

    def seal(self, rounds: Rounds, call: str, expires_ms: int) -> str:
        """The state string for a call with digest `call`, good until `expires_ms` (Unix ms)."""
        payload = json.dumps(
            {
                "round": rounds.number,
                "answers": rounds.answers or {},
                "instances": rounds.instances,
                "id": rounds.request_id,
                "call": call,
                "expires": expires_ms,
            },
            separators=(",", ":"),
        ).encode()
        return base64.urlsafe_b64encode(self._tag(payload) + payload).decode()

    def open(self, state: object, call: str, now_ms: int) -> Rounds:
        """What the string says. Raises RpcError -32602 with the reason when it is not ours."""
        payload = self._verified(state)
        if payload["call"] != call:
            raise RpcError(INVALID_PARAMS, "requestState belongs to another call")
        if now_ms >= payload["expires"]:
            raise RpcError(INVALID_PARAMS, "requestState has expired")
        return Rounds(
            payload["round"], payload["answers"], tuple(payload["instances"]), payload["id"]
        )

    def _verified(self, state: object) -> Json:
        refused = RpcError(INVALID_PARAMS, "requestState failed its integrity check")
        if not isinstance(state, str):
            raise refused
        try:
            raw = base64.b64decode(state.encode(), altchars=b"-_", validate=True)
        except ValueError:
            raise refused from None
        tag, payload = raw[:32], raw[32:]
        if not hmac.compare_digest(tag, self._tag(payload)):
            raise refused
        opened: Json = json.loads(payload)
        return opened

    def _tag(self, payload: bytes) -> bytes:
        return hmac.new(self._key, payload, hashlib.sha256).digest()

"""Facts the engine tells the layers above, after they are committed."""

from functools import partial
from uuid import UUID

from django.db import transaction
from django.dispatch import Signal

#: Sent with `operation_id` when input requests were opened, closed or changed, and when an
#: operation ended that waited at the gate.
input_requests_changed = Signal()

#: Sent with `stretch` (engine.hold.Stretch) in the transaction in which a hold ends: a receiver
#: that fails keeps it from ending.
hold_ended = Signal()

#: Sent with `server_id` and `now` (UTC) in the transaction in which a server comes to be called
#: under another name, or with another identity or credential: people agreed to another call.
server_identity_changed = Signal()


def tell_input_requests_changed(operation_id: UUID) -> None:
    """Send the signal once the current transaction commits; a failing receiver is logged."""
    send = partial(input_requests_changed.send_robust, None, operation_id=operation_id)
    transaction.on_commit(send, robust=True)

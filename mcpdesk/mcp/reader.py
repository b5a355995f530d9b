"""From the bytes of one HTTP response to one Reply. Never raises, whatever the bytes are."""

from collections.abc import Mapping

from mcpdesk.mcp.replies import ErrorReply, Reply, ReplyProblem, ResultReply, Unreadable

__all__ = ["ErrorReply", "Reply", "ReplyProblem", "ResponseReader", "ResultReply", "Unreadable"]


class ResponseReader:
    """Reads one response to the request `expected_id`, chunk by chunk.

    `headers` are the response's, by lower-case name (or any mapping that ignores case).
    """

    def __init__(self, status: int, headers: Mapping[str, str], expected_id: int) -> None:
        raise NotImplementedError

    def feed(self, chunk: bytes) -> bool:
        """Takes bytes as they came (still compressed). True: the answer is complete, stop."""
        raise NotImplementedError

    def finish(self) -> Reply:
        """The reply. Call once, after the last chunk or as soon as `feed` returned True."""
        raise NotImplementedError

"""What one HTTP response came to, before anybody asks what it means for an operation."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from mcpdesk.mcp.notes import Note


class ReplyProblem(StrEnum):
    """Why a response is not an answer to the request."""

    AUTHORIZATION = "authorization"
    BUSY = "busy"
    HTTP_STATUS = "http_status"
    NO_BODY = "no_body"
    MEDIA_TYPE = "media_type"
    ENCODING = "encoding"
    NOT_UTF8 = "not_utf8"
    NOT_JSON = "not_json"
    NOT_JSONRPC = "not_jsonrpc"
    WRONG_ID = "wrong_id"
    STREAM_ENDED = "stream_ended"
    TOO_BIG = "too_big"
    TOO_DEEP = "too_deep"
    INVALID_RESULT = "invalid_result"


@dataclass(frozen=True, slots=True)
class ResultReply:
    """A JSON-RPC result with our id. `result` is kept as it came."""

    result: dict[str, Any]
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class ErrorReply:
    """A JSON-RPC error with our id, or with none. It counts before the HTTP status does."""

    code: int
    message: str
    data: Any
    http_status: int
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A response that is no answer. `sentence` holds nothing the server wrote."""

    reason: ReplyProblem
    sentence: str
    http_status: int
    media_type: str


Reply = ResultReply | ErrorReply | Unreadable

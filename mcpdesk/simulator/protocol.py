"""Names, error codes and message shapes of MCP 2026-07-28 and the Tasks extension."""

from typing import Any

Json = dict[str, Any]

VERSION = "2026-07-28"
TASKS_EXTENSION = "io.modelcontextprotocol/tasks"

META_VERSION = "io.modelcontextprotocol/protocolVersion"
META_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
META_SERVER_INFO = "io.modelcontextprotocol/serverInfo"
META_SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022

HTTP_STATUS_OF = {METHOD_NOT_FOUND: 404, INTERNAL_ERROR: 500}
"""HTTP status that carries an error of that code; every other code travels with 400."""


class RpcError(Exception):
    """A JSON-RPC error that ends the request. `status` is the HTTP status that carries it."""

    def __init__(self, code: int, message: str, data: object = None, *, status: int | None = None):
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data
        self.status = status or HTTP_STATUS_OF.get(code, 400)

    def body(self) -> Json:
        """The `error` member of the response."""
        body: Json = {"code": self.code, "message": self.message}
        if self.data is not None:
            body["data"] = self.data
        return body


def missing_capability(required: Json) -> RpcError:
    """-32021, naming the client capabilities that the request would need."""
    return RpcError(
        MISSING_CAPABILITY,
        "Missing required client capability",
        {"requiredCapabilities": required},
    )


def result_message(request_id: object, result: Json) -> Json:
    """A JSON-RPC response with a result."""
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def error_message(request_id: object, error: RpcError) -> Json:
    """A JSON-RPC response with an error; the id is left out when it could not be read."""
    message: Json = {"jsonrpc": "2.0"}
    if request_id is not None:
        message["id"] = request_id
    message["error"] = error.body()
    return message


def text_block(text: str) -> Json:
    """One content block of plain text."""
    return {"type": "text", "text": text}


def text_result(text: str, *, is_error: bool = False, structured: object = None) -> Json:
    """A CallToolResult with one text block, and structured content when there is some."""
    result: Json = {"resultType": "complete", "content": [text_block(text)]}
    if structured is not None:
        result["structuredContent"] = structured
    if is_error:
        result["isError"] = True
    return result

"""How much of a server's answer is taken. What is over a limit is refused with a sentence."""

MAX_MESSAGE_BYTES = 8 * 1024 * 1024
"""One JSON-RPC message, decoded (a JSON body, or the data of one SSE event)."""

MAX_STREAM_BYTES = 4 * MAX_MESSAGE_BYTES
"""All of one SSE response, decoded: notifications before the answer count."""

MAX_STREAM_LINES = 200_000
"""Lines of one SSE response: each costs time, also where it is empty or a comment."""

MAX_DEPTH = 64
"""Nesting of arrays and objects in one message."""

MAX_INPUT_REQUEST_BYTES = 256 * 1024
"""One input request (method and params) as compact JSON."""

MAX_INPUT_REQUESTS = 50
"""Input requests in one round or one task answer."""

MAX_KEY_CHARS = 512
"""The key of an input request."""

MAX_TASK_ID_CHARS = 2048
"""A task id: it has to fit into a request header (base64 of UTF-8)."""

MAX_TOOL_PAGES = 100
"""Pages of one `tools/list`."""

MAX_TOOLS = 5000
"""Tools read from one `tools/list`, over all its pages; bad ones count."""

MAX_TOOL_LIST_CHARS = 32 * 1024 * 1024
"""All pages of one `tools/list`, as compact ASCII JSON, with whatever else stands in them."""

MAX_SCHEMA_PARTS = 20_000
"""Schemas within one input schema that are looked through for `x-mcp-header`."""

MAX_EXACT = 2**53
"""Whole numbers below this are exact in every reader of JSON; an error code is one of them."""

MAX_STATUS_MESSAGE_CHARS = 4_000
"""The words beside a task's status; they are written down anew with every poll."""

MAX_DISCOVERY_CHARS = 64 * 1024
"""What a server says of itself, as compact ASCII JSON; its page shows all of it."""

MAX_TOOL_CHARS = 256 * 1024
"""The definition of one tool, as compact ASCII JSON."""

MAX_WORD_CHARS = 64
"""Unknown words (a status, a resultType) are kept up to this length."""

POLL_CAP_MS = 600_000
"""The longest wait between two polls of a task, whatever the server asked for."""

MAX_TOOL_NAME_CHARS = 256
"""The specification recommends 128 at most (server/tools, Tool Names)."""

MAX_CHECKED_CHARS = 256 * 1024
"""Output schema and structured content together, as ASCII JSON, beyond which no check is made."""

MAX_CHECK_STEPS = 50_000
"""Steps of checking one result against its output schema: keywords, and elements gone through."""

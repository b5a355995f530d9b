"""Deviations of a server that are tolerated, each with a sentence for the page."""

from enum import StrEnum


class Note(StrEnum):
    """One tolerated deviation. The value is the code for logs; `sentence` is for people."""

    ID_AS_STRING = "id_as_string"
    ENVELOPE_OLD = "envelope_old"
    DUPLICATE_KEYS = "duplicate_keys"
    BYTE_ORDER_MARK = "byte_order_mark"
    NUMBER_AS_FRACTION = "number_as_fraction"
    RESULT_TYPE_MISSING = "result_type_missing"
    RESULT_TYPE_TASK = "result_type_task"
    TTL_MISSING = "ttl_missing"
    TTL_UNREADABLE = "ttl_unreadable"
    TTL_NOT_POSITIVE = "ttl_not_positive"
    POLL_INTERVAL_NOT_POSITIVE = "poll_interval_not_positive"
    POLL_INTERVAL_UNREADABLE = "poll_interval_unreadable"
    POLL_INTERVAL_TOO_LONG = "poll_interval_too_long"
    TIME_UNREADABLE = "time_unreadable"
    STATUS_UNKNOWN = "status_unknown"
    STATUS_MESSAGE_UNREADABLE = "status_message_unreadable"
    INPUT_REQUESTS_EMPTY = "input_requests_empty"
    INPUT_REQUESTS_TOO_MANY = "input_requests_too_many"
    RESULT_MISSING = "result_missing"
    ERROR_MISSING = "error_missing"
    CONTENT_MISSING = "content_missing"
    CONTENT_UNKNOWN = "content_unknown"
    IS_ERROR_UNREADABLE = "is_error_unreadable"
    ERROR_WITH_STRUCTURED = "error_with_structured"
    OUTPUT_MISMATCH = "output_mismatch"
    CURSOR_UNREADABLE = "cursor_unreadable"

    @property
    def sentence(self) -> str:
        """What the server did, in one sentence for the page."""
        return _SENTENCES[self]


_SENTENCES = {
    Note.ID_AS_STRING: "The server returned the request id as text.",
    Note.ENVELOPE_OLD: "The server's answer does not call itself JSON-RPC 2.0.",
    Note.DUPLICATE_KEYS: "The server's answer has the same name twice in one object; "
    "the last one counts.",
    Note.BYTE_ORDER_MARK: "The server's answer begins with a byte order mark.",
    Note.NUMBER_AS_FRACTION: "The server sent a whole number as a fraction.",
    Note.RESULT_TYPE_MISSING: "The server did not say what type of result this is.",
    Note.RESULT_TYPE_TASK: "The server called the state of a task a new task.",
    Note.TTL_MISSING: "The server did not say how long it keeps the task; taken as unlimited.",
    Note.TTL_UNREADABLE: "The server's ttlMs is not a number; the task is taken as unlimited.",
    Note.TTL_NOT_POSITIVE: "The server sent a ttlMs of zero or less: it may drop the task at once.",
    Note.POLL_INTERVAL_NOT_POSITIVE: "The server sent a pollIntervalMs of zero or less; "
    "the desk uses its own.",
    Note.POLL_INTERVAL_UNREADABLE: "The server's pollIntervalMs is not a number; "
    "the desk uses its own.",
    Note.POLL_INTERVAL_TOO_LONG: "The server asked for more than ten minutes between checks; "
    "the desk checks every ten minutes.",
    Note.TIME_UNREADABLE: "The server sent a time that is not an RFC 3339 timestamp.",
    Note.STATUS_UNKNOWN: "The server reported a status this desk does not know.",
    Note.STATUS_MESSAGE_UNREADABLE: "The server's status message is not text.",
    Note.INPUT_REQUESTS_EMPTY: "The server waits for input but did not say for which.",
    Note.INPUT_REQUESTS_TOO_MANY: "The server asked more questions at once than the desk takes.",
    Note.RESULT_MISSING: "The server reported completion without a readable result.",
    Note.ERROR_MISSING: "The server reported failure without a readable error.",
    Note.CONTENT_MISSING: "The result has no list of content blocks.",
    Note.CONTENT_UNKNOWN: "The result has content blocks this desk does not know.",
    Note.IS_ERROR_UNREADABLE: "The result's isError is not true or false; taken as no error.",
    Note.ERROR_WITH_STRUCTURED: "The tool reported an error and structured content together.",
    Note.OUTPUT_MISMATCH: "The structured content does not fit the tool's output schema.",
    Note.CURSOR_UNREADABLE: "The server's cursor for the next page is not text; the list ends.",
}

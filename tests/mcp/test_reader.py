"""One HTTP response, one Reply: the rows of docs/protocol.md that are about bytes."""

import gzip
import json
import time
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcpdesk.mcp.limits import MAX_MESSAGE_BYTES, MAX_STREAM_BYTES, MAX_STREAM_LINES
from mcpdesk.mcp.notes import Note
from mcpdesk.mcp.reader import ErrorReply, ReplyProblem, ResponseReader, ResultReply, Unreadable
from tests.mcp.wire import ID, JSON, SSE, error, event, message, read, to_bytes

RESULT = {"resultType": "complete", "content": [{"type": "text", "text": "größer 世界 \U0001f600"}]}
ANSWER = message(RESULT)
NOTIFICATION = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1}}


def _reason(body: bytes, headers: dict[str, str] = JSON, status: int = 200) -> ReplyProblem:
    found = read(body, headers, status)
    assert isinstance(found, Unreadable), found
    return found.reason


# JSON bodies


def test_a_json_body_is_read_and_its_result_kept_as_it_came() -> None:
    assert read(to_bytes(ANSWER)) == ResultReply(RESULT)


@pytest.mark.parametrize(
    "media_type",
    ["application/json; charset=utf-8", "Application/JSON", "application/json ;charset=UTF-8"],
)
def test_capitals_and_parameters_in_the_media_type_do_not_matter(media_type: str) -> None:
    assert read(to_bytes(ANSWER), {"content-type": media_type}) == ResultReply(RESULT)
    stream = {"content-type": media_type.lower().replace("application/json", "Text/Event-Stream")}
    assert read(event(ANSWER), stream) == ResultReply(RESULT)


def test_a_byte_order_mark_is_read_over_and_noted() -> None:
    found = read(b"\xef\xbb\xbf" + to_bytes(ANSWER))
    assert found == ResultReply(RESULT, (Note.BYTE_ORDER_MARK,))


def test_gzip_is_decoded_in_json_and_in_streams() -> None:
    assert read(gzip.compress(to_bytes(ANSWER)), JSON | {"content-encoding": "gzip"}) == (
        ResultReply(RESULT)
    )
    assert read(gzip.compress(event(ANSWER)), SSE | {"content-encoding": "gzip"}) == (
        ResultReply(RESULT)
    )


def test_an_encoding_that_was_not_asked_for_is_refused() -> None:
    assert _reason(b"x", JSON | {"content-encoding": "br"}) is ReplyProblem.ENCODING
    assert _reason(b"no gzip", JSON | {"content-encoding": "gzip"}) is ReplyProblem.ENCODING


def test_an_object_with_a_name_twice_is_noted() -> None:
    body = b'{"jsonrpc": "2.0", "id": 7, "result": {"a": 1, "a": 2}}'
    assert read(body) == ResultReply({"a": 2}, (Note.DUPLICATE_KEYS,))


# ids


def test_an_id_as_text_is_accepted() -> None:
    assert read(to_bytes(message(RESULT, id="7"))) == ResultReply(RESULT, (Note.ID_AS_STRING,))


def test_an_id_as_a_fraction_is_accepted() -> None:
    found = read(b'{"jsonrpc": "2.0", "id": 7.0, "result": {}}')
    assert found == ResultReply({}, (Note.NUMBER_AS_FRACTION,))


@pytest.mark.parametrize("other", [8, "8", "07", None, True, [7], 7.5])
def test_a_result_with_another_id_or_none_is_not_accepted(other: Any) -> None:
    whole = {"jsonrpc": "2.0", "id": other, "result": RESULT}
    assert _reason(to_bytes(whole)) is ReplyProblem.WRONG_ID
    assert _reason(event(whole), SSE) is ReplyProblem.WRONG_ID


def test_true_is_not_the_id_one() -> None:
    reader = ResponseReader(200, JSON, 1)
    reader.feed(b'{"jsonrpc": "2.0", "id": true, "result": {}}')
    found = reader.finish()
    assert isinstance(found, Unreadable)
    assert found.reason is ReplyProblem.WRONG_ID


@pytest.mark.parametrize("body", [error(id=None), error(id=7), error(id="7")])
def test_an_error_may_have_no_id(body: dict[str, Any]) -> None:
    found = read(to_bytes(body), status=400)
    assert isinstance(found, ErrorReply)
    assert (found.code, found.message, found.http_status) == (-32603, "No", 400)


def test_an_error_for_another_request_is_not_ours() -> None:
    assert _reason(to_bytes(error(id=8))) is ReplyProblem.WRONG_ID


# errors and statuses


@pytest.mark.parametrize("status", [200, 400, 404, 409, 422, 500, 502])
@pytest.mark.parametrize("headers", [JSON, SSE])
def test_an_error_is_read_before_the_status_is_looked_at(
    status: int, headers: dict[str, str]
) -> None:
    body = error(-32602, "Unknown task", data={"why": 1})
    found = read(event(body) if headers is SSE else to_bytes(body), headers, status)
    assert found == ErrorReply(-32602, "Unknown task", {"why": 1}, status)


def test_a_code_as_a_fraction_is_accepted_and_noted() -> None:
    found = read(to_bytes(error(-32602.0)))
    assert found == ErrorReply(-32602, "No", None, 200, (Note.NUMBER_AS_FRACTION,))


@pytest.mark.parametrize(
    "body",
    [
        error("-1"),
        error(None),
        error(True),
        error(1.5),
        error(2**53),
        error(-(10**4000)),
        error(text=None),
        error(text=5),
    ],
)
def test_an_error_without_a_whole_code_and_a_text_is_none(body: dict[str, Any]) -> None:
    assert _reason(to_bytes(body)) is ReplyProblem.NOT_JSONRPC


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize("media_type", ["text/html", "application/json", "", "text/event-stream"])
def test_refused_credentials_have_a_reason_of_their_own(status: int, media_type: str) -> None:
    body = to_bytes(error())
    assert _reason(body, {"content-type": media_type}, status) is ReplyProblem.AUTHORIZATION


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("media_type", ["text/html", "application/json", ""])
def test_a_busy_server_has_a_reason_of_its_own(status: int, media_type: str) -> None:
    assert _reason(b"slow down", {"content-type": media_type}, status) is ReplyProblem.BUSY


@pytest.mark.parametrize("status", [202, 204])
def test_no_content_is_no_answer_even_with_a_body(status: int) -> None:
    assert _reason(to_bytes(ANSWER), JSON, status) is ReplyProblem.NO_BODY


def test_a_result_inside_an_error_status_is_not_accepted() -> None:
    assert _reason(to_bytes(ANSWER), JSON, 500) is ReplyProblem.HTTP_STATUS


@pytest.mark.parametrize("body", [b"", b"  \r\n"])
def test_an_empty_body_is_no_answer(body: bytes) -> None:
    assert _reason(body) is ReplyProblem.NO_BODY


@pytest.mark.parametrize("media_type", ["text/html", "text/plain", "application/xml", "", "!!"])
def test_anything_but_json_or_a_stream_is_refused_by_its_media_type(media_type: str) -> None:
    assert _reason(to_bytes(ANSWER), {"content-type": media_type}) is ReplyProblem.MEDIA_TYPE


@pytest.mark.parametrize("problem", ["text/s3cret-of-the-caller", "s3cret/json"])
def test_the_sentence_does_not_repeat_a_media_type_that_could_be_a_message(problem: str) -> None:
    found = read(b"{}", {"content-type": problem}, 200)
    assert isinstance(found, Unreadable)
    assert "an uncommon media type" in found.sentence
    assert "s3cret" not in found.sentence


def test_the_sentence_names_status_and_media_type_and_nothing_the_server_wrote() -> None:
    found = read(b"<script>alert(1)</script>", {"content-type": "text/html"}, 502)
    assert isinstance(found, Unreadable)
    assert "502" in found.sentence
    assert "text/html" in found.sentence
    assert "script" not in found.sentence


def test_a_media_type_full_of_tricks_is_not_repeated() -> None:
    found = read(b"", {"content-type": "<b>\u202ehtml/x"}, 200)
    assert isinstance(found, Unreadable)
    assert "<b>" not in found.sentence
    assert found.media_type == ""


@pytest.mark.parametrize(
    "whole",
    [
        {"hello": 1},
        [ANSWER],
        "text",
        None,
        5,
        {"jsonrpc": "2.0", "id": ID, "result": "text"},
        {"jsonrpc": "2.0", "id": ID, "result": [1]},
        {"jsonrpc": "2.0", "id": ID, "result": None},
        {"jsonrpc": "2.0", "id": ID, "error": "text"},
        {"jsonrpc": "2.0", "id": ID, "result": {}, "error": {"code": 1, "message": "x"}},
        NOTIFICATION,
    ],
)
def test_json_that_is_no_response_is_refused(whole: Any) -> None:
    assert _reason(to_bytes(whole)) is ReplyProblem.NOT_JSONRPC


@pytest.mark.parametrize("envelope", [{"jsonrpc": None}, {"jsonrpc": "1.0"}, {"jsonrpc": 2}])
def test_a_response_that_does_not_call_itself_json_rpc_is_read_and_noted(
    envelope: dict[str, Any],
) -> None:
    assert read(to_bytes(message(RESULT, **envelope))) == ResultReply(RESULT, (Note.ENVELOPE_OLD,))


# streams


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_lines_end_in_any_of_three_ways(end: bytes) -> None:
    lines = [b": hello", b"event: message", b"id: 1", b"data: " + to_bytes(NOTIFICATION), b"",
             b":", b"retry: 10", b"data:" + to_bytes(ANSWER), b"", b""]  # fmt: skip
    assert read(end.join(lines), SSE) == ResultReply(RESULT)


def test_data_over_several_lines_is_one_message() -> None:
    text = json.dumps(ANSWER, indent=1)
    body = "".join(f"data: {line}\n" for line in text.split("\n")) + "\n"
    assert read(body.encode(), SSE) == ResultReply(RESULT)


def test_the_last_event_needs_no_blank_line() -> None:
    assert read(event(ANSWER).rstrip(), SSE) == ResultReply(RESULT)
    assert read(event(ANSWER).rstrip() + b"\n", SSE) == ResultReply(RESULT)


def test_a_stream_may_begin_with_a_byte_order_mark() -> None:
    assert read(b"\xef\xbb\xbf" + event(ANSWER), SSE) == ResultReply(RESULT)


@pytest.mark.parametrize(
    "other",
    [
        NOTIFICATION,
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"type": "keep-alive"},
        message(RESULT, id=8),
        [],
    ],
)
def test_what_is_not_the_answer_is_read_over_in_a_stream(other: Any) -> None:
    assert read(event(other) + event(ANSWER), SSE) == ResultReply(RESULT)


@pytest.mark.parametrize("noise", [b"data: ping\n\n", b"data:\n\n", b"data\n\n", b"x\n\n", b"\n\n"])
def test_keep_alives_of_any_kind_are_read_over(noise: bytes) -> None:
    assert read(noise + event(ANSWER), SSE) == ResultReply(RESULT)


def test_a_stream_that_ends_before_the_answer_is_no_answer() -> None:
    assert _reason(event(NOTIFICATION), SSE) is ReplyProblem.STREAM_ENDED
    assert _reason(b"", SSE) is ReplyProblem.STREAM_ENDED
    assert _reason(event(ANSWER)[:40], SSE) is ReplyProblem.NOT_JSON


def test_the_answer_is_complete_as_soon_as_its_blank_line_came() -> None:
    reader = ResponseReader(200, SSE, ID)
    assert not reader.feed(event(NOTIFICATION))
    assert not reader.feed(event(ANSWER)[:-1])
    assert reader.feed(b"\n")
    assert reader.finish() == ResultReply(RESULT)


def test_a_carriage_return_alone_completes_an_answer_at_once() -> None:
    reader = ResponseReader(200, SSE, ID)
    assert reader.feed(event(ANSWER).replace(b"\n", b"\r"))


# limits


def test_a_body_over_8_mib_is_refused_before_it_is_read_whole() -> None:
    reader = ResponseReader(200, JSON, ID)
    chunk = b" " * (1024 * 1024)
    taken = [reader.feed(chunk) for _ in range(9)]
    assert taken == [False] * 8 + [True]
    found = reader.finish()
    assert isinstance(found, Unreadable)
    assert found.reason is ReplyProblem.TOO_BIG


def test_a_body_of_exactly_8_mib_is_read() -> None:
    body = to_bytes(ANSWER)
    assert read(body + b" " * (MAX_MESSAGE_BYTES - len(body))) == ResultReply(RESULT)


def test_the_limit_counts_what_comes_out_of_gzip() -> None:
    bomb = gzip.compress(b" " * (MAX_MESSAGE_BYTES + 1))
    assert _reason(bomb, JSON | {"content-encoding": "gzip"}) is ReplyProblem.TOO_BIG


@pytest.mark.parametrize("cut", [100_000, 10**8])
@pytest.mark.parametrize(
    "body",
    [
        b"data: " + b"x" * MAX_MESSAGE_BYTES + b"\n\n",
        (b"data: " + b"x" * 1_000_000 + b"\n") * 9 + b"\n",
        b":" + b"x" * (MAX_MESSAGE_BYTES + 1) + b"\n",
    ],
)
def test_an_event_over_8_mib_is_refused_however_it_is_cut(body: bytes, cut: int) -> None:
    whole = body + event(ANSWER)
    found = read((whole[at : at + cut] for at in range(0, len(whole), cut)), SSE)
    assert isinstance(found, Unreadable)
    assert found.reason is ReplyProblem.TOO_BIG


def test_a_stream_without_end_is_refused() -> None:
    reader = ResponseReader(200, SSE, ID)
    chunk = (b": keep alive" + b" " * 1_000 + b"\n") * 1_000
    chunks = 0
    while not reader.feed(chunk):
        chunks += 1
        assert chunks * len(chunk) <= MAX_STREAM_BYTES
    found = reader.finish()
    assert isinstance(found, Unreadable)
    assert found.reason is ReplyProblem.TOO_BIG


@pytest.mark.parametrize("line", [b"\n", b"\r", b":\n", b"data:\n\n", event(NOTIFICATION)])
def test_lines_without_end_are_refused_before_they_cost_much(line: bytes) -> None:
    lines = line * (2 * MAX_STREAM_LINES)
    started = time.thread_time()
    assert _reason(lines, SSE) is ReplyProblem.TOO_BIG
    compressed = gzip.compress(lines, 1)
    assert _reason(compressed, SSE | {"content-encoding": "gzip"}) is ReplyProblem.TOO_BIG
    assert time.thread_time() - started < 10


def test_an_answer_may_follow_as_many_lines_as_are_allowed() -> None:
    noise = b":\n" * (MAX_STREAM_LINES - 2)
    assert read(noise + event(ANSWER), SSE) == ResultReply(RESULT)
    # the last line has no end, so that it is counted nowhere
    assert read(b":\n" * MAX_STREAM_LINES + b"data: " + to_bytes(ANSWER), SSE) == ResultReply(
        RESULT
    )
    assert _reason(b":\n" * MAX_STREAM_LINES + event(ANSWER), SSE) is ReplyProblem.TOO_BIG


def test_nesting_without_end_is_refused() -> None:
    deep = b'{"jsonrpc": "2.0", "id": 7, "result": {"a": ' + b"[" * 100_000
    assert _reason(deep) is ReplyProblem.TOO_DEEP
    assert _reason(b"data: " + deep + b"\n\n", SSE) is ReplyProblem.TOO_DEEP


# properties

PIECES = st.sampled_from(
    [b"data: ", b"data:", b"\n", b"\r", b"\r\n", b":", b"event: x", b"\xef\xbb\xbf", b"\xff", b"{}",
     "ä😀".encode(), to_bytes(ANSWER), to_bytes(NOTIFICATION), to_bytes(error()), b'"', b"["]
)  # fmt: skip
BODIES = st.binary(max_size=60) | st.lists(PIECES, max_size=14).map(b"".join)
HEADERS = st.fixed_dictionaries(
    {"content-type": st.sampled_from(["application/json", "text/event-stream", "text/html", ""])},
    optional={"content-encoding": st.sampled_from(["gzip", "deflate", "br"])},
)


@given(
    BODIES,
    HEADERS,
    st.sampled_from([200, 202, 301, 400, 401, 404, 429, 500]),
    st.lists(st.integers(min_value=0, max_value=400), max_size=8),
)
@example(event(ANSWER).replace(b"\n", b"\r\n"), SSE, 200, [len(event(ANSWER)) - 1])
def test_any_bytes_give_a_reply_and_cutting_them_changes_nothing(
    body: bytes, headers: dict[str, str], status: int, cuts: list[int]
) -> None:
    whole = read(body, headers, status)
    assert isinstance(whole, ResultReply | ErrorReply | Unreadable)
    edges = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
    pieces = [body[start:end] for start, end in pairwise(edges)]
    assert read(pieces, headers, status) == whole


def test_characters_may_be_split_anywhere() -> None:
    body = f"data: {json.dumps(ANSWER, ensure_ascii=False)}\n\n".encode()
    for at in range(len(body)):
        assert read([body[:at], body[at:]], SSE) == ResultReply(RESULT)

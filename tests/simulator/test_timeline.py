from hypothesis import given
from hypothesis import strategies as st

from mcpdesk.simulator.scripts import Ask, Cancel, Fail, Script, Work
from mcpdesk.simulator.timeline import TaskRecord, as_detailed_wire, look, stamp
from tests.simulator.peer import NO, YES

QUESTION = {"method": "elicitation/create", "params": {}}

steps = st.lists(
    st.one_of(
        st.builds(Work, st.integers(0, 500)),
        st.builds(
            lambda keys, withdrawn: Ask(dict.fromkeys(keys, QUESTION), withdrawn_ms=withdrawn),
            st.sets(st.sampled_from("abc"), min_size=1),
            st.integers(1, 2000),
        ),
        st.just(Fail(-32603, "broken")),
    ),
    max_size=5,
)
moves = st.lists(
    st.tuples(st.integers(0, 300), st.sampled_from(["a", "b", "c", "cancel"]), st.booleans()),
    max_size=12,
)


@given(steps, st.sampled_from(Cancel), moves)
def test_what_is_terminal_stays_as_it_is(played, cancel, moves):
    script = Script(task=tuple(played), cancel=cancel)
    record, now, ended = TaskRecord("id", "tool", {}, 0), 0, None
    for wait, what, agrees in moves:
        now += wait
        seen = look(record, script, now)
        if ended is not None:
            assert seen == ended
        elif seen.terminal:
            ended = seen
        elif what == "cancel":
            record.cancelled_ms = record.cancelled_ms or now
        elif what in seen.requests:
            record.answers[what] = (YES if agrees else NO, now)


@given(steps, st.integers(0, 5000))
def test_a_task_shows_what_its_status_promises_and_nothing_else(played, now):
    script = Script(task=tuple(played))
    record = TaskRecord("id", "tool", {}, 0)
    wire = as_detailed_wire(record, script, look(record, script, now))
    members = {"input_required": "inputRequests", "completed": "result", "failed": "error"}
    for status, member in members.items():
        assert (member in wire) is (wire["status"] == status)


@given(steps, st.integers(0, 5000))
def test_nothing_is_dated_in_the_future(played, now):
    script = Script(task=tuple(played))
    assert look(TaskRecord("id", "tool", {}, 0), script, now).changed_ms <= now


def test_times_are_written_in_utc_with_milliseconds():
    assert stamp(1_800_000_000_007) == "2027-01-15T08:00:00.007Z"

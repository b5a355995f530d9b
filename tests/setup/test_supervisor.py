import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.setup.conftest import SLEEP, TinyDesk, eventually, lives

Start = Callable[..., TinyDesk]

STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEP}"
DIES = "print('the reason it died'); raise SystemExit(3)"
WITH_A_CHILD = (
    "import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', '" + SLEEP + "']);"
    "print(p.pid, flush=True); p.wait()"
)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_request_to_stop_stops_everything_in_order(tiny_desk: Start, number: int) -> None:
    desk = tiny_desk()
    pids = desk.ready()
    desk.process.send_signal(number)
    assert desk.end() == 0
    assert desk.printed[-2:] == ["stopping", "stopped"]
    assert not any(lives(pid) for pid in pids)


def test_the_first_process_is_stopped_last(tiny_desk: Start, tmp_path: Path) -> None:
    order = tmp_path / "order"
    program = (
        "import signal, sys, time\n"
        "def end(*_):\n"
        f"    open({str(order)!r}, 'a').write('NAME ')\n"
        "    sys.exit()\n"
        "signal.signal(signal.SIGTERM, end)\n"
        f"open({str(order)!r} + 'NAME', 'w')\n"
        "time.sleep(600)"
    )
    desk = tiny_desk(program.replace("NAME", "first"), program.replace("NAME", "second"))
    desk.ready()
    assert eventually(lambda: all(Path(f"{order}{n}").exists() for n in ("first", "second")))
    desk.ctrl_c()
    desk.end()
    assert order.read_text() == "second first "


def test_ctrl_c_at_the_terminal_reaches_the_supervisor_alone(tiny_desk: Start) -> None:
    # a process that dies of SIGINT by itself would be reported as killed by signal 2
    desk = tiny_desk()
    desk.ready()
    desk.ctrl_c()
    desk.end()
    assert not any("signal 2" in line for line in desk.printed)


def test_a_second_ctrl_c_kills_what_does_not_want_to_stop(tiny_desk: Start) -> None:
    desk = tiny_desk(second="import sys; sys.stdout.flush();" + STUBBORN)
    _, stubborn = desk.ready()
    desk.ctrl_c()
    desk.read_until("stopping")
    desk.ctrl_c()
    assert desk.end() == 0
    assert not lives(stubborn)


def test_a_killed_supervisor_leaves_no_process_behind(tiny_desk: Start) -> None:
    desk = tiny_desk()
    pids = desk.ready()
    desk.process.kill()
    assert eventually(lambda: not any(lives(pid) for pid in pids))


def test_the_next_start_after_a_killed_supervisor_works(tiny_desk: Start) -> None:
    killed = tiny_desk(second=STUBBORN)
    old = killed.ready()
    killed.process.kill()
    new = tiny_desk().ready()
    assert not any(lives(pid) for pid in old)
    assert all(lives(pid) for pid in new)


def test_what_a_killed_supervisor_and_caretaker_left_is_stopped_by_the_next_start(
    tiny_desk: Start,
) -> None:
    killed = tiny_desk()
    old = killed.ready()
    _kill_caretaker(killed)
    killed.process.kill()
    killed.process.wait()
    assert all(lives(pid) for pid in old)
    desk = tiny_desk()
    assert desk.read_until("left behind: (.*)")[1] == "['first', 'second']"
    desk.ready()
    assert not any(lives(pid) for pid in old)


def test_a_killed_caretaker_is_replaced(tiny_desk: Start) -> None:
    desk = tiny_desk()
    pids = desk.ready()
    killed = _kill_caretaker(desk)
    assert eventually(lambda: _has_another_caretaker(desk, killed))
    desk.process.kill()
    assert eventually(lambda: not any(lives(pid) for pid in pids))


def test_a_process_that_dies_is_started_again_and_named(tiny_desk: Start) -> None:
    desk = tiny_desk()
    _, second = desk.ready()
    os.kill(second, signal.SIGKILL)
    desk.read_until("second was killed by signal 9; starting it again")
    desk.read_until("second is started again")


def test_a_process_that_keeps_dying_ends_the_desk_with_its_last_words(tiny_desk: Start) -> None:
    desk = tiny_desk(second=DIES)
    first, _ = desk.ready()
    assert desk.end() == 1
    said = "\n".join(desk.printed)
    assert "second dies again and again: it ended with exit status 3." in said
    assert "the reason it died" in said
    assert not lives(first)


def test_what_a_process_started_itself_goes_with_it(tiny_desk: Start, tmp_path: Path) -> None:
    desk = tiny_desk(second=WITH_A_CHILD)
    desk.ready()
    log = tmp_path / "data" / "second.log"
    assert eventually(lambda: log.exists() and log.read_text().strip().isdigit())
    grandchild = int(log.read_text())
    desk.ctrl_c()
    desk.end()
    assert not lives(grandchild)


def test_a_second_desk_on_the_same_data_is_refused_with_the_first_ones_number(
    tiny_desk: Start,
) -> None:
    first = tiny_desk()
    pids = first.ready()
    second = tiny_desk()
    assert second.end() == 1
    assert f"process {first.process.pid}" in second.printed[-1]
    assert "MCPDESK_DATA" in second.printed[-1]
    assert all(lives(pid) for pid in pids)


def _caretaker_of(desk: TinyDesk) -> psutil.Process | None:
    for child in psutil.Process(desk.process.pid).children():
        with suppress(psutil.NoSuchProcess):
            if "mcpdesk.embedded.caretaker" in child.cmdline():
                return child
    return None


def _kill_caretaker(desk: TinyDesk) -> int:
    caretaker = _caretaker_of(desk)
    assert caretaker is not None
    caretaker.kill()
    return caretaker.pid


def _has_another_caretaker(desk: TinyDesk, than: int) -> bool:
    caretaker = _caretaker_of(desk)
    return caretaker is not None and caretaker.pid != than

"""A desk as processes that can be killed: each command runs the real engine in a fork of its own.

`python -m tests.chaos.desk_process` reads one JSON command a line and writes one JSON answer a
line; a command whose process was killed is answered with null. Where to die is told from outside,
by wrapping functions of the engine: the product knows nothing of it.
"""

import json
import os
import signal
import sys
import threading
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from urllib.request import urlopen

import django

django.setup()

from django.core.management import call_command  # noqa: E402
from django.db.models import Min  # noqa: E402

from approvals import intake  # noqa: E402
from approvals.models import Approval  # noqa: E402
from mcpdesk.audit.log import DESK  # noqa: E402
from mcpdesk.audit.models import Event  # noqa: E402
from tasks_monitor.engine import drain as drain_module  # noqa: E402
from tasks_monitor.engine.answer import answer  # noqa: E402
from tasks_monitor.engine.cancel import request_cancel  # noqa: E402
from tasks_monitor.engine.network import Network  # noqa: E402
from tasks_monitor.engine.start import start  # noqa: E402
from tasks_monitor.engine.sweep import sweep  # noqa: E402
from tasks_monitor.models import (  # noqa: E402
    Delivery,
    InputRequest,
    InputRequestState,
    Operation,
    Server,
)
from tests.factories import ServerFactory, TeamFactory  # noqa: E402

Json = dict[str, Any]
ACCEPTED = {"action": "accept", "content": {"confirm": True}}
LOOKS = 40


def die(postgres: int | None) -> None:
    """The end of this process at this very statement, and of the database where it is named."""
    if postgres is not None:
        os.killpg(postgres, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


class Executioner:
    """Ends the process the n-th time that a request of one kind has come to one point."""

    def __init__(self, kind: str, nth: int, postgres: int | None) -> None:
        self._kind, self._left, self._postgres = kind, nth, postgres

    def sees(self, works: list[Any]) -> bool:
        """Count, where one of these is of the kind; True when this is the time."""
        if any(type(work).__name__ == self._kind for work in works):
            self._left -= 1
            return self._left == 0
        return False

    def strike(self) -> None:
        die(self._postgres)


def arm(point: Json, server: str) -> None:
    """Wrap the function that ends at the point, so that the process ends there."""
    executioner = Executioner(point["kind"], point["nth"], point.get("postgres"))
    _POINTS[point["at"]](executioner, server)


def _claimed(executioner: Executioner, server: str) -> None:
    """The lease is committed, nothing else is."""
    prepare = drain_module.prepare

    def wrapped(claims: list[Any], now: datetime) -> Any:
        if claims and executioner.sees([_Claimed() for _ in claims[:1]]):
            executioner.strike()
        return prepare(claims, now)

    drain_module.prepare = wrapped


class _Claimed:
    """Stands for any claim, whatever it becomes."""


def _prepared(executioner: Executioner, server: str) -> None:
    """It is committed that the request leaves; no byte has left."""
    prepare = drain_module.prepare

    def wrapped(claims: list[Any], now: datetime) -> Any:
        works = prepare(claims, now)
        if executioner.sees([work for work, _ in works]):
            executioner.strike()
        return works

    drain_module.prepare = wrapped


def _on_its_way(executioner: Executioner, server: str) -> None:
    """The server has the request and has not answered."""
    submit = Network.submit

    def wrapped(network: Network, works: list[Any]) -> None:
        submit(network, works)
        if executioner.sees([work for work, _ in works]):
            while "tools/call" not in _asked(server):
                pass
            executioner.strike()

    Network.submit = wrapped  # type: ignore[method-assign,assignment]


def _asked(server: str) -> Json:
    with urlopen(f"{server}/requests", timeout=5) as response:
        counts: Json = json.load(response)["by_method"]
    return counts


def _arrived(executioner: Executioner, server: str) -> None:
    """The answer is here and nothing of it is written."""
    _around_settle(executioner, before=True)


def _applied(executioner: Executioner, server: str) -> None:
    """What the answer said is committed."""
    _around_settle(executioner, before=False)


def _around_settle(executioner: Executioner, *, before: bool) -> None:
    settle = drain_module.settle

    def wrapped(results: list[Any], clock: Callable[[], datetime]) -> None:
        is_time = executioner.sees([result.work for result in results])
        if is_time and before:
            executioner.strike()
        settle(results, clock)
        if is_time:
            executioner.strike()

    drain_module.settle = wrapped


_POINTS: dict[str, Callable[[Executioner, str], None]] = {
    "claimed": _claimed,
    "prepared": _prepared,
    "on its way": _on_its_way,
    "arrived": _arrived,
    "applied": _applied,
}


def migrate(command: Json) -> Json:
    call_command("migrate", verbosity=0)
    return {}


def begin(command: Json) -> Json:
    """An operation on a server of its own, started and not worked on."""
    now = datetime.fromisoformat(command["now"])
    # each command is a fork of one process, so that the factory's own numbers repeat
    team = TeamFactory(slug=uuid.uuid4().hex)
    where = {"url": command["url"], "allow_private": True}
    server = ServerFactory(team=team, call_timeout_s=3, created_at=now, **where)
    operation = start(
        team_id=server.team_id,
        server_id=server.pk,
        tool_name=command["tool"],
        arguments=command["arguments"],
        actor=DESK,
        now=now,
        idempotency_key=command["arguments"]["nonce"],
    ).operation
    return {"operation": str(operation.pk), "server": server.pk}


def work(command: Json) -> Json:
    """Sweep, take in, drain and answer until it rests; the clock jumps to each next look."""
    if command.get("die"):
        arm(command["die"], command["origin"])
    network, clock = Network(), Clock(datetime.fromisoformat(command["now"]))
    for _ in range(LOOKS):
        sweep(clock.now)
        drain_module.drain(network, clock)
        intake.sweep(clock.now)
        answered = _answer_all(command, clock.now) if command["answers"] else 0
        if not answered and not clock.jump(command):
            break
    return {"now": clock.now.isoformat()}


class Clock:
    """Stands still, and jumps to the moment that something is due."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def jump(self, command: Json) -> bool:
        rows = Operation.objects.filter(pk=command["operation"])
        due = rows.aggregate(at=Min("due_at"))["at"]
        held = Server.objects.filter(operations__in=rows).aggregate(at=Min("not_before"))["at"]
        if due is None:
            return False
        self.now = max(self.now + timedelta(milliseconds=1), due, held or due)
        return True


def _answer_all(command: Json, now: datetime) -> int:
    """Somebody decides; `dies_deciding` ends the process right after the first decision."""
    questions = InputRequest.objects.filter(
        operation_id=command["operation"], state=InputRequestState.OPEN
    )
    for question in questions:
        answer(question.pk, response=ACCEPTED, actor=DESK, now=now)
        if command.get("dies_deciding"):
            die(command["dies_deciding"].get("postgres"))
    return len(questions)


def cancel(command: Json) -> Json:
    now = datetime.fromisoformat(command["now"])
    request_cancel(command["operation"], actor=DESK, now=now)
    return {}


def report(command: Json) -> Json:
    """What the database says of the operation."""
    operation = Operation.objects.get(pk=command["operation"])
    questions = InputRequest.objects.filter(operation=operation)
    approvals = Approval.objects.filter(operation=operation)
    moves = Event.objects.filter(operation_id=operation.pk, kind="operation.moved").order_by("id")
    return {
        "state": operation.state,
        "has_result": operation.payload.result is not None,
        "due": operation.due_at is not None,
        "questions": [[q.key, q.source, q.revision, q.state] for q in questions],
        "deliveries": [
            d.state for d in Delivery.objects.filter(input_request__operation=operation)
        ],
        "approvals": [str(a.input_request_id) for a in approvals],
        "open_approvals": sum(a.is_open for a in approvals),
        "moves": [[m.data["before"], m.data["after"]] for m in moves],
    }


_COMMANDS = {each.__name__: each for each in (migrate, begin, work, cancel, report)}


def run_in_fork(command: Json) -> Json | None:
    """The answer of a process of its own; None where it was killed."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        try:
            answer_text = json.dumps(_COMMANDS[command["do"]](command))
        except BaseException as error:
            answer_text = json.dumps({"error": f"{type(error).__name__}: {error}"})
        os.write(write, answer_text.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    os.waitpid(pid, 0)
    return json.loads(text) if text else None


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    assert threading.active_count() == 1, "a process with threads must not fork"
    for line in sys.stdin:
        answers.write(json.dumps(run_in_fork(json.loads(line))) + "\n")


if __name__ == "__main__":
    main()

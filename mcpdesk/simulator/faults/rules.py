"""Which fault spoils which exchange.

A rule comes from one of three places: the query of the endpoint's URL, the arguments of the tools
`misbehave` and `misbehave_task`, or POST /faults. All have the same members.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs

from mcpdesk.simulator.faults.catalog import FAULTS, Fault
from mcpdesk.simulator.faults.moment import Moment
from mcpdesk.simulator.protocol import Json
from mcpdesk.simulator.request import Request
from mcpdesk.simulator.world import World

FAULTY_TOOLS = frozenset({"misbehave", "misbehave_task"})


@dataclass(frozen=True, slots=True)
class Rule:
    """A fault, the method it spoils (`*`: any), and for which of the exchanges it does so.

    The first `after` exchanges are left alone; then `times` are spoiled (0: all). `scope` is what
    the exchanges are counted under. `seconds` is the delay that Retry-After names.
    """

    fault: str
    on: str
    scope: str
    after: int = 0
    times: int = 0
    seconds: int = 2

    def covers(self, method: str) -> bool:
        """Whether the rule is about this method."""
        return self.on in ("*", method)

    def strikes(self, number: int) -> bool:
        """Whether the exchange with this number, from 1, is spoiled."""
        return number > self.after and (not self.times or number <= self.after + self.times)


def rule_of(members: Mapping[str, object], scope: str, on: str = "*") -> Rule | None:
    """The rule that some members describe; None when they name no fault that exists."""
    fault = members.get("fault")
    if fault not in FAULTS:
        return None
    numbers = {
        name: int(str(members[name])) for name in ("after", "times", "seconds") if name in members
    }
    on = str(members.get("on", on))
    return Rule(str(fault), on, f"{scope}:{fault}:{on}", **numbers)


def _from_query(query: str) -> Rule | None:
    members = {name: values[0] for name, values in parse_qs(query).items()}
    return rule_of(members, f"query:{query}")


def _from_arguments(world: World, request: Request) -> Rule | None:
    """The rule of a call to a faulty tool, or of the task that such a call made."""
    params = request.params
    if request.method.startswith("tasks/"):
        record = world.store.load(str(params.get("taskId")))
        if record is None or record.tool not in FAULTY_TOOLS:
            return None
        return rule_of(record.arguments, f"task:{record.id}", "tasks/get")
    name, arguments = params.get("name"), params.get("arguments")
    if name not in FAULTY_TOOLS or not isinstance(arguments, dict):
        return None
    scope = f"call:{arguments.get('nonce') or sorted(arguments.items())}"
    return rule_of(arguments, scope, "tools/call" if name == "misbehave" else "tasks/get")


def _rules(world: World, request: Request, query: str) -> Iterator[Rule]:
    found = [_from_query(query) if query else None, _from_arguments(world, request)]
    armed = (rule_of(members, f"armed:{n}") for n, members in enumerate(world.armed))
    yield from (rule for rule in (*found, *armed) if rule is not None)


def striking(world: World, request: Request, query: str) -> tuple[Fault, Moment] | None:
    """The fault that spoils this exchange, with its moment; None for an honest answer."""
    for rule in _rules(world, request, query):
        if not rule.covers(request.method):
            continue
        number = world.store.add("rule", rule.scope)
        if rule.strikes(number):
            host = request.headers.get("host", "")
            return FAULTS[rule.fault], Moment(number, world.clock(), host, rule.seconds)
    return None


def check_armed(members: Json) -> Json:
    """The members of a rule for POST /faults. Raises ValueError for a fault nobody knows."""
    if rule_of(members, "armed") is None:
        raise ValueError(f"No such fault: {members.get('fault')}")
    return members

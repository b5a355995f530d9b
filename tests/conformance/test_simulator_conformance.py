"""The official suite's server scenarios against the simulator.

They keep our other tests honest: a client that passes against the simulator passes against a
server that somebody else has checked.
"""

import re
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.node import failed, list_scenarios, run_suite
from tests.simulator.process import SimulatorProcess

pytestmark = pytest.mark.conformance

SCENARIOS = [
    "server-stateless",
    "caching",
    "tools-list",
    "tools-call-simple-text",
    "tools-call-image",
    "tools-call-audio",
    "tools-call-embedded-resource",
    "tools-call-mixed-content",
    "tools-call-error",
    "tools-call-with-progress",
    "tasks-lifecycle",
    "tasks-capability-negotiation",
    "tasks-wire-fields",
    "tasks-request-state-removal",
    "tasks-mrtr-input",
    "tasks-request-headers",
    "tasks-dispatch-and-envelope",
    "tasks-required-task-error",
    "tasks-mrtr-composition",
    "input-required-result-basic-elicitation",
    "input-required-result-basic-sampling",
    "input-required-result-basic-list-roots",
    "input-required-result-request-state",
    "input-required-result-multiple-input-requests",
    "input-required-result-multi-round",
    "input-required-result-missing-input-response",
    "input-required-result-non-tool-request",
    "input-required-result-result-type",
    "input-required-result-unsupported-methods",
    "input-required-result-tampered-state",
    "input-required-result-capability-check",
    "input-required-result-ignore-extra-params",
    "input-required-result-validate-input",
    "http-header-validation",
    "http-custom-header-server-validation",
    "dns-rebinding-protection",
]


Checks = list[dict[str, Any]]


@pytest.fixture(scope="module")
def reports(
    request: pytest.FixtureRequest,
    node_modules: Path,
    simulator: SimulatorProcess,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[dict[str, Future[Checks]]]:
    """The checks of every selected scenario; played four at a time, for most of it is waiting."""
    folder = tmp_path_factory.mktemp("conformance")
    selected = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    wanted = {params["scenario"] for params in selected if params.get("scenario") in SCENARIOS}
    with ThreadPoolExecutor(4) as pool:
        yield {
            name: pool.submit(run_suite, "server", name, folder / name, "--url", simulator.url)
            for name in SCENARIOS
            if name in wanted
        }


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_simulator_passes_the_official_scenario(
    scenario: str, reports: dict[str, Future[Checks]]
) -> None:
    checks = reports[scenario].result()
    assert failed(checks) == []
    assert any(check["status"] == "SUCCESS" for check in checks)


def test_no_scenario_of_these_families_is_left_out(node_modules: Path) -> None:
    """`tasks-status-notifications` is skipped by the suite itself."""
    families = re.compile(r"  - ((?:tasks|input-required-result|server-stateless|caching)\S*)")
    listed = set(families.findall(list_scenarios("server")))
    assert listed - set(SCENARIOS) == {"tasks-status-notifications"}

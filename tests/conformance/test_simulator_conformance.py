"""The official suite's server scenarios against the simulator.

They keep our other tests honest: a client that passes against the simulator passes against a
server that somebody else has checked.
"""

from pathlib import Path

import pytest

from tests.conformance.node import failed, run_suite
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


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_simulator_passes_the_official_scenario(
    scenario: str, node_modules: Path, simulator: SimulatorProcess, tmp_path: Path
) -> None:
    checks = run_suite("server", scenario, tmp_path, "--url", simulator.url)
    assert failed(checks) == []
    assert any(check["status"] == "SUCCESS" for check in checks)

"""The official suite's client scenarios against the desk's own session."""

import sys
from pathlib import Path

import pytest

from tests.conformance.node import failed, run_suite

pytestmark = pytest.mark.conformance

COMMAND = f"{sys.executable} {Path(__file__).parents[2] / 'manage.py'} mcp_conformance"
SCENARIOS = [
    "tools_call",
    "request-metadata",
    "sep-2322-client-request-state",
    "http-standard-headers",
    "http-custom-headers",
    "http-invalid-tool-headers",
    "json-schema-ref-no-deref",
]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_desk_passes_the_official_client_scenario(
    scenario: str, node_modules: Path, tmp_path: Path
) -> None:
    checks = run_suite("client", scenario, tmp_path, "--command", COMMAND)
    assert failed(checks) == []
    passed = {check["id"] for check in checks if check["status"] == "SUCCESS"}
    assert passed - {"wire-schema-valid"}

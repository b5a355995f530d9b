"""There is no Docker engine where these tests run, so the files are held to what they name."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import get_commands

from mcpdesk.embedded.postgres import Postgres
from mcpdesk.embedded.preparation import FINGERPRINT, IN_AN_IMAGE
from tests.setup.conftest import CHECKOUT

COMPOSE = (CHECKOUT / "docker-compose.yml").read_text()
DOCKERFILE = (CHECKOUT / "Dockerfile").read_text()
OURS = ("prepare", "web", "worker", "clock")
#: Settings that mean nothing in a container of ours, or that its image, the compose file or the
#: person at the shell decide.
ELSEWHERE = {
    *("MCPDESK_BIND", "MCPDESK_DATA", "MCPDESK_SIMULATOR_BIND", "MCPDESK_DEMO", "MCPDESK_DEBUG"),
    *("MCPDESK_PUBLISH", "MCPDESK_TOKEN", "POSTGRES_PASSWORD", "CELERY_BROKER_URL"),
    *("PYTHON", "CI", "MCP_CONFORMANCE_CONTEXT"),
}


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    return dict(yaml.safe_load(COMPOSE)["services"])


def _read_by_the_desk() -> set[str]:
    sources = [*CHECKOUT.glob("mcpdesk/*.py"), *CHECKOUT.glob("mcpdesk/embedded/*.py")]
    text = "\n".join(path.read_text() for path in sources)
    return set(re.findall(r'"((?:MCPDESK|OTEL)_[A-Z_]+|(?:DATABASE|REDIS|EMAIL)_URL)"', text))


@pytest.mark.parametrize("name", OURS)
def test_each_service_runs_a_command_that_exists(name: str, services: dict[str, Any]) -> None:
    python, manage, command = services[name]["command"]
    assert (python, manage) == ("python", "manage.py")
    assert command in get_commands()


@pytest.mark.parametrize("name", OURS)
def test_each_variable_of_a_service_is_one_the_desk_reads(
    name: str, services: dict[str, Any]
) -> None:
    assert set(services[name]["environment"]) <= _read_by_the_desk()


def test_every_other_setting_of_the_documentation_reaches_the_containers(
    services: dict[str, Any],
) -> None:
    """What stands in .env alone does not: mail, say, could not be set up at all."""
    tables = (CHECKOUT / "docs" / "configuration.md").read_text()
    documented = set(re.findall(r"^\| `([A-Z_]+)`", tables, re.MULTILINE))
    documented |= set(re.findall(r"^\| `[A-Z_]+`, `([A-Z_]+)`", tables, re.MULTILINE))
    given = set().union(*(services[name]["environment"] for name in OURS))
    assert documented - ELSEWHERE == given


@pytest.mark.parametrize("name", ["web", "worker", "clock"])
def test_each_lasting_service_has_a_health_check_for_itself(
    name: str, services: dict[str, Any]
) -> None:
    written = services[name].get("healthcheck", {}).get("test")
    # the web process has the one of the image
    test = written[1:] if written else re.findall(r'"([^"]+)"', DOCKERFILE.split("HEALTHCHECK")[1])
    assert test[:4] == ["python", "manage.py", "healthy", name]
    assert "healthy" in get_commands()


@pytest.mark.parametrize("name", ["web", "worker", "clock"])
def test_nothing_starts_before_the_tables_are_there(name: str, services: dict[str, Any]) -> None:
    assert services[name]["depends_on"]["prepare"] == {
        "condition": "service_completed_successfully"
    }


def test_no_secret_has_a_default() -> None:
    keys = ("MCPDESK_SECRET_KEY", "MCPDESK_ENCRYPTION_KEYS", "MCPDESK_SEAL_KEY")
    for secret in ("POSTGRES_PASSWORD", *keys):
        assert re.findall(rf"\${{{secret}:\?[^}}]+}}", COMPOSE)
        assert not re.findall(rf"\${{{secret}(?!:\?)", COMPOSE)


def test_one_volume_keeps_the_database_and_nothing_else_is_kept(services: dict[str, Any]) -> None:
    kept = {name: service["volumes"] for name, service in services.items() if "volumes" in service}
    assert kept == {"postgres": ["database:/var/lib/postgresql"]}


def test_nothing_runs_as_root(services: dict[str, Any]) -> None:
    assert re.search(r"^USER 10001$", DOCKERFILE, re.MULTILINE)
    assert {services[name]["user"] for name in ("postgres", "redis")} == {"postgres", "redis"}


def test_the_image_holds_every_folder_that_the_desk_is_made_of() -> None:
    copied = set(re.findall(r"^COPY (\w+) \w+$", DOCKERFILE, re.MULTILINE))
    admitted = set(re.findall(r"^!(\w+)$", (CHECKOUT / ".dockerignore").read_text(), re.MULTILINE))
    assert copied == admitted == {p.name for p in _folders_of_the_desk()}


def test_the_image_says_that_its_static_files_are_collected() -> None:
    """Its file system is read-only: a `prepare` that collected them again would never end well."""
    assert f"&& echo {IN_AN_IMAGE} > staticfiles/{FINGERPRINT}\n" in DOCKERFILE


def _folders_of_the_desk() -> list[Path]:
    left_out = {"tests", "docs", "benchmarks", "var", "artifacts", "staticfiles"}
    folders = [path for path in CHECKOUT.iterdir() if path.is_dir() and path.name[0] not in "._"]
    return [path for path in folders if path.name not in left_out]


def test_the_log_of_the_database_quotes_neither_statements_nor_rows(
    services: dict[str, Any], tmp_path: Path
) -> None:
    """Reasons and searched words stand in them; embedded or in a container, it is the same."""
    quiet = {"log_min_error_statement", "log_error_verbosity"}
    embedded = Postgres(tmp_path)._options
    command = services["postgres"]["command"]
    assert {f"{name}={embedded[name]}" for name in quiet} <= set(command)

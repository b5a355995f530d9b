import ast

import pytest

from tests.docs import environment, pages

CONFIGURATION = pages.text_of("docs/configuration.md")
ROWS = pages.tables(CONFIGURATION, "variable")
DOCUMENTED = {name: row for row in ROWS for name in pages.code_in(row[0])}


def test_the_tables_name_exactly_the_variables_that_the_product_reads() -> None:
    read = environment.read_by_python() | environment.read_by_shell("desk")
    read |= environment.read_by_shell("docker-compose.yml")
    assert set(DOCUMENTED) == read


def test_each_variable_has_one_row() -> None:
    assert len(ROWS) == len(DOCUMENTED)


def test_a_default_in_the_settings_is_the_default_in_the_table() -> None:
    defaults = environment.defaults_in(pages.CHECKOUT / "mcpdesk" / "settings.py")
    wrong = {name for name, value in defaults.items() if not _says(DOCUMENTED[name][1], value)}
    assert len(defaults) > 10
    assert wrong == set()


def _says(cell: str, value: object) -> bool:
    if isinstance(value, bool):
        return f"`{str(value).lower()}`" in cell
    if isinstance(value, float):
        return f"`{value:g}`" in cell
    return f"`{value}`" in cell if value != "" else cell == "none"


def test_every_check_of_the_settings_is_listed_with_its_id() -> None:
    source = (pages.CHECKOUT / "mcpdesk" / "checks.py").read_text("utf-8")
    given = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.keyword)]
    ids = {ast.literal_eval(keyword.value) for keyword in given if keyword.arg == "id"}
    assert {row[0].strip("`") for row in pages.tables(CONFIGURATION, "id")} == ids


def test_the_readme_names_only_variables_that_exist() -> None:
    named = {
        name
        for row in pages.tables(pages.text_of("README.md"), "variable")
        for name in pages.code_in(row[0])
    }
    assert named
    assert named <= set(DOCUMENTED)


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ('env.str("A", default="")', {"A"}),
        ('x = "B" not in env', {"B"}),
        ('import os\nos.environ.get("C")', {"C"}),
        ('import os\nNAME = "D"\nos.environ.get(NAME)', {"D"}),
        ('import os\n{"E", "F"} <= os.environ.keys()', {"E", "F"}),
        ('import os\nos.environ["G"]', {"G"}),
        ('other.get("H")', set()),
    ],
)
def test_a_variable_is_found_however_it_is_read(source: str, names: set[str]) -> None:
    assert set(environment._names_in(ast.parse(source))) == names

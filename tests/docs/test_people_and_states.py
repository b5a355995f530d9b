import re

from approvals.models import Shape
from approvals.repair_form import CHOICES
from mcpdesk.accounts.access import MATRIX, Permission
from mcpdesk.accounts.models import Role
from tasks_monitor.engine.reconcile import Choice
from tasks_monitor.models import Server
from tasks_monitor.states import State
from tests.docs import pages

PEOPLE = pages.text_of("docs/people.md")
OPERATORS = pages.text_of("docs/operators.md")

ROWS_OF_ROLES = {
    "see operations, servers and the people of the team": Permission.SEE_OPERATIONS,
    "see arguments, questions, answers and results": Permission.SEE_ALL_PAYLOADS,
    "answer what was put to them": Permission.DECIDE,
    "start, adopt, cancel and check operations; "
    "[stop everything](operators.md#the-kill-switch) that is sent": Permission.OPERATE,
    "say what becomes of operations that broke ([repairs](operators.md#repairs))": (
        Permission.RECONCILE
    ),
    "find everything in the history, read and verify the log, export": Permission.READ_HISTORY,
    "add and change servers, policies and members; "
    "let go again what was stopped": Permission.ADMINISTER,
}


def test_the_table_of_roles_is_the_one_the_code_decides_by() -> None:
    rows = pages.tables(PEOPLE, "may")
    assert [row[0] for row in rows] == list(ROWS_OF_ROLES)
    for what, *cells in rows:
        allowed = {role for role, cell in zip(Role, cells, strict=True) if cell == "yes"}
        assert allowed == {role for role in Role if ROWS_OF_ROLES[what] in MATRIX[role]}, what


def test_every_kind_of_question_is_explained() -> None:
    explained = {kind for row in pages.tables(PEOPLE, "kind") for kind in row[0].split(", ")}
    assert explained == {shape.label for shape in Shape}


def test_the_keys_are_those_that_the_inbox_shows() -> None:
    dialog = pages.text_of("templates/approvals/keys.html")
    shown = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", dialog)
    keys = [(re.findall(r"<kbd>(.*?)</kbd>", names), what) for names, what in shown]
    documented = [(pages.code_in(row[0]), row[1]) for row in pages.tables(PEOPLE, "key")]
    assert [names for names, _ in documented] == [names for names, _ in keys]
    assert [what for _, what in documented[:-1]] == [what for _, what in keys[:-1]]


def test_every_state_is_explained_under_the_words_of_the_page() -> None:
    documented = [(row[0], row[1].strip("`")) for row in pages.tables(OPERATORS, "the page says")]
    assert documented == [(state.label, state.value) for state in State]


def test_the_choices_of_reconciling_are_those_of_the_form() -> None:
    documented = [row[0] for row in pages.tables(OPERATORS, "choice")]
    assert documented == [CHOICES[choice][0] for choice in Choice]


def test_the_defaults_of_a_server_are_those_of_its_row() -> None:
    documented = {row[0]: row[1] for row in pages.tables(OPERATORS, "setting")}
    server = Server()
    assert documented["Requests at a time"] == str(server.max_in_flight)
    assert documented["Time for a call (s)"] == str(server.call_timeout_s)
    assert documented["Paused"] == "off" and not server.paused
    assert documented["Private address"] == "off" and not server.allow_private
    assert documented["Its questions go to"] == server.get_questions_to_display().lower()

"""Every address, every method, every role, plain and by htmx: status, contents, no side effects."""

import pytest

from tests.access.actors import ACTORS, ADMIN, DEACTIVATED, EVERYBODY, NOBODY, Actor
from tests.access.asking import (
    METHODS,
    SIGN_IN,
    Answer,
    acts,
    addresses,
    ask,
    expected,
    quiet,
    unread,
)
from tests.access.expected import ROWS, Open, Row
from tests.access.planted import Planted
from tests.access.routes import routes
from tests.access.snapshot import changed, snapshot, undone
from tests.access.world import World

pytestmark = pytest.mark.django_db

TEAM_ROWS = {route: row for route, row in ROWS.items() if isinstance(row, Row)}
OPEN_ROWS = {route: row for route, row in ROWS.items() if isinstance(row, Open)}
SIGNED_OUT = (NOBODY, DEACTIVATED)
HTMX = {"HX-Request": "true"}


def test_every_route_has_a_row() -> None:
    missing = [route for route in routes() if route not in ROWS]
    assert missing == [], (
        f"Who may do what at these addresses? {missing}: add a row for each to ROWS in "
        "tests/access/expected.py."
    )


def test_every_row_has_a_route() -> None:
    assert set(ROWS) - set(routes()) == set(), "take these rows out of tests/access/expected.py"


def _looks(row: Row) -> list[dict[str, str]]:
    """Headers of a plain request, and of htmx for each part that asks for itself."""
    return [{}, *({**HTMX, "HX-Target": part} for part in row.parts or ("",))]


def _is_right(wrong: list[str]) -> None:
    assert not wrong, "\n" + "\n".join(wrong)


def _wrong(said: str, actor: Actor, answer: Answer, status: int) -> list[str]:
    """What is not as it must be, in words."""
    wrong = []
    if answer.status != status:
        wrong.append(f"{actor.name}: {said} is {answer.status}, not {status}")
    if answer.has_markup:
        wrong.append(f"{actor.name}: {said} takes what somebody wrote for markup")
    if answer.hides:
        wrong.append(f"{actor.name}: {said} shows what cannot be seen as it is")
    wrong += [f"{actor.name}: {said} shows {one}" for one in unread(answer, actor)]
    return wrong


def _stray(said: str, actor: Actor, answer: Answer) -> list[str]:
    """Who is not signed in goes to sign in and nowhere else, by a link or by a header of htmx."""
    if actor.name not in SIGNED_OUT or answer.status == 405 or answer.leads_to == SIGN_IN:
        return []
    return [f"{actor.name}: {said} leads to {answer.leads_to or 'no page'}, not to sign in"]


@pytest.mark.parametrize("route", TEAM_ROWS)
def test_get_answers_each_role_as_the_matrix_says_and_changes_nothing(
    world: World, route: str
) -> None:
    row, wrong, before = TEAM_ROWS[route], [], snapshot()
    for actor in world.cast.values():
        with undone():
            for at, address in zip(
                row.at or ("",), addresses(world, actor, route, row), strict=True
            ):
                status = expected(row, row.get, actor, at)
                for headers in _looks(row):
                    said = f"GET {address} {headers or ''}"
                    answer = ask(world, actor, "GET", address, headers=headers)
                    wrong += _wrong(said, actor, answer, status)
                    wrong += _stray(said, actor, answer)
                    if answer.queries > row.queries:
                        wrong.append(f"{actor.name}: {said} took {answer.queries} queries")
            touched = [table for table in changed(before) if table not in row.leaves]
            wrong += [f"{actor.name}: GET /{route} changed {table}" for table in touched]
    _is_right(wrong)


@pytest.mark.parametrize("route", [route for route, row in TEAM_ROWS.items() if row.post])
def test_post_does_something_for_the_roles_of_the_matrix_and_nothing_for_others(
    world: World, route: str
) -> None:
    row, wrong, before = TEAM_ROWS[route], [], snapshot()
    at = (row.at or ("",))[0] + "".join(row.form.values())
    for actor in world.cast.values():
        address = addresses(world, actor, route, row)[0]
        status = expected(row, row.post, actor, at)
        for headers in ({}, HTMX):
            with undone():
                answer = ask(world, actor, "POST", address, form=row.form, headers=headers)
                in_part = bool(headers) and status == 302 and actor.name not in SIGNED_OUT
                due = row.htmx if in_part else status
                said = f"POST {address} {headers or ''}"
                wrong += _wrong(said, actor, answer, due) + _stray(said, actor, answer)
                tables, due = changed(before), acts(row, actor, at)
                if due != bool(tables):
                    wrong.append(f"{actor.name}: {said} changed {tables or 'nothing'}")
    _is_right(wrong)


@pytest.mark.parametrize("route", TEAM_ROWS)
def test_a_method_that_the_row_does_not_name_is_not_taken(world: World, route: str) -> None:
    row, wrong, before = TEAM_ROWS[route], [], snapshot()
    taken = {"GET", "HEAD"} if row.get else set()
    taken |= {"POST"} if row.post else set()
    actor = world.cast[ADMIN]
    address = addresses(world, actor, route, row)[0]
    for method in sorted(METHODS - taken):
        answer = quiet(world, actor, method, address)
        if answer.status != 405:
            wrong.append(f"{method} {address} is {answer.status}, not 405")
    wrong += [f"/{route}: {table} changed" for table in changed(before)]
    _is_right(wrong)


@pytest.mark.parametrize("role", EVERYBODY)
def test_whoever_may_read_something_meets_it_on_some_page(world: World, role: str) -> None:
    """Else the tests above would be content with empty pages."""
    actor = world.cast[role]
    met: set[Planted] = set()
    for route, row in TEAM_ROWS.items():
        if row.get and row.get[role] == 200:
            for address in addresses(world, actor, route, row):
                met |= quiet(world, actor, "GET", address).found
    theirs = {one for one in world.garden.planted.values() if role in one.readers}
    _is_right([f"{role} never meets {one}" for one in theirs - met])


@pytest.mark.parametrize("route", OPEN_ROWS)
def test_an_address_without_a_team_shows_nothing_of_any(world: World, route: str) -> None:
    row, wrong, before = OPEN_ROWS[route], [], snapshot()
    for actor in world.cast.values():
        status = row.nobody if actor.name in SIGNED_OUT else row.somebody
        wrong += _wrong(f"GET {row.at}", actor, quiet(world, actor, "GET", row.at), status)
    wrong += [f"/{route}: {table} changed" for table in changed(before)]
    _is_right(wrong)


@pytest.mark.parametrize("route", OPEN_ROWS)
def test_an_empty_form_to_an_address_without_a_team_does_nothing(world: World, route: str) -> None:
    row, wrong, before = OPEN_ROWS[route], [], snapshot()
    for name in (NOBODY, ADMIN):
        answer = quiet(world, world.cast[name], "POST", row.at)
        wrong += [f"{name}: POST {row.at} shows {one}" for one in unread(answer, world.cast[name])]
        if answer.status >= 500:
            wrong.append(f"{name}: POST {row.at} is {answer.status}")
    wrong += [f"/{route}: {table} changed" for table in changed(before)]
    _is_right(wrong)


def test_every_actor_of_the_matrix_is_in_the_world(world: World) -> None:
    assert set(world.cast) == set(ACTORS)

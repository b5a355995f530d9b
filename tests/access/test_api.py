"""Every route of the API, by every role, service and scope: status, contents, no side effects."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext

from mcpdesk.accounts.models import Team, User
from mcpdesk.accounts.tokens import Scope
from mcpdesk.api.urls import api
from tests.access.actors import DEACTIVATED, EVERYBODY, FOREIGNER, SUPERUSER, TEAMLESS, VISITOR
from tests.access.asking import Names
from tests.access.expected_api import API_ROWS, MORE_TO_READ, SERVICE, ApiRow
from tests.access.planted import Planted
from tests.access.snapshot import changed, snapshot, undone
from tests.access.world import World
from tests.api.calling import PROBLEM, ROOT, a_token

pytestmark = pytest.mark.django_db

#: Counted and noted for each request, whatever it comes to.
COUNTED = {"accounts_cacheentry", "accounts_apitoken"}
SCOPES = [scope for scope in Scope if scope is not Scope.DECIDE]


@dataclass(slots=True)
class Answer:
    response: HttpResponse
    found: frozenset[Planted]
    queries: int

    @property
    def status(self) -> int:
        return self.response.status_code


def _routes() -> Iterator[tuple[str, str]]:
    """Every method of every route, as ninja has them."""
    for router in api._get_bound_routers():
        for path, view in router.path_operations.items():
            for operation in view.operations:
                for method in operation.methods:
                    # ninja reads ids with a converter of its own
                    yield method, f"{router.prefix}{path}".replace("{uuidstr:", "{uuid:")


def test_every_route_of_the_api_has_a_row_and_every_row_a_route() -> None:
    assert set(_routes()) == set(API_ROWS), "rows belong in tests/access/expected_api.py"


def test_the_document_names_the_scope_of_every_route() -> None:
    described = api.get_openapi_schema()["paths"]
    for (method, path), row in API_ROWS.items():
        route = described[f"/api/v1{re.sub(r'{[a-z]+:', '{', path)}"][method.lower()]
        assert route["security"] == [{"Bearer": [row.scope.value]}], path


def _fill(value: Any, names: Names) -> Any:
    """The body with the things of the team in the places of its braces."""
    if isinstance(value, str):
        return value.format_map(names)
    return {name: _fill(one, names) for name, one in value.items()}


def _ask(
    world: World, who: str, secret: str, method: str, path: str, row: ApiRow | None = None
) -> Answer:
    """One request with this token; `who` names whose forms' tokens go along."""
    names = Names(world, world.cast.get(who, world.cast[SUPERUSER]))
    body = json.dumps(_fill(row.body, names)) if row and row.body else "{}"
    headers = {"Authorization": f"Bearer {secret}", **(row.headers if row else {})}
    more = {} if method == "GET" else {"data": body, "content_type": "application/json"}
    address = f"{ROOT}{path.format_map(names)}"
    with CaptureQueriesContext(connection) as queries:
        response = getattr(Client(), method.lower())(address, headers=headers, **more)
    seen = world.garden.found_in(response.content.decode())
    return Answer(response, frozenset(seen - world.garden.found_in(body)), len(queries))


def _at(key: tuple[str, str]) -> str:
    return API_ROWS[key].at or key[1]


def _unread(answer: Answer, who: str) -> list[str]:
    """What stood in an answer and was not for these eyes; a service reads what is open to all."""
    if who == SERVICE:
        return [str(one) for one in answer.found if not set(EVERYBODY) <= one.readers]
    return [str(one) for one in answer.found if who not in one.readers]


@contextmanager
def _holders(world: World, scopes: list[Scope] | None = None) -> Iterator[dict[str, str]]:
    """A token for each role and one of a service, which never were."""
    team = world.here.team
    with undone():
        made = {
            role: a_token(team, world.cast[role].user, scopes or list(Scope))[1]
            for role in EVERYBODY
        }
        admin = world.cast["admin"].user
        made[SERVICE] = a_token(
            team, None, [s for s in scopes or SCOPES if s in SCOPES], created_by=admin
        )[1]
        yield made


def _wrong(key: tuple[str, str], who: str, answer: Answer, status: int) -> list[str]:
    wrong = [f"{who}: {key} shows {one}" for one in _unread(answer, who)]
    if answer.status != status:
        wrong.append(f"{who}: {key} is {answer.status}, not {status}: {answer.response.content!r}")
    if answer.status >= 400 and answer.response["Content-Type"] != PROBLEM:
        wrong.append(f"{who}: {key} fails as {answer.response['Content-Type']}")
    return wrong


@pytest.mark.parametrize("key", API_ROWS)
def test_each_role_and_a_service_are_answered_as_the_matrix_says(
    world: World, key: tuple[str, str]
) -> None:
    row, wrong = API_ROWS[key], []
    with _holders(world) as holders:
        before = snapshot()
        for who, secret in holders.items():
            status = row.service if who == SERVICE else row.says[who]
            with undone():
                answer = _ask(world, who, secret, key[0], _at(key), row)
                wrong += _wrong(key, who, answer, status)
                if answer.queries > row.queries:
                    wrong.append(f"{who}: {key} took {answer.queries} queries")
                tables = set(changed(before)) - COUNTED
                if bool(tables) != (row.acts and status < 400):
                    wrong.append(f"{who}: {key} changed {tables or 'nothing'}")
    assert wrong == []


@pytest.mark.parametrize("key", API_ROWS)
@pytest.mark.parametrize("scope", Scope)
def test_a_token_of_one_scope_does_what_that_scope_says_and_nothing_else(
    world: World, key: tuple[str, str], scope: Scope
) -> None:
    row, wrong = API_ROWS[key], []
    with _holders(world, [scope]) as holders:
        before = snapshot()
        for who, secret in holders.items():
            fits = scope is row.scope and (who != SERVICE or scope in SCOPES)
            given = row.service if who == SERVICE else row.says[who]
            with undone():
                answer = _ask(world, who, secret, key[0], _at(key), row)
                wrong += _wrong(key, who, answer, given if fits else 403)
                tables = set(changed(before)) - COUNTED
                if tables and not fits:
                    wrong.append(f"{who}: {key} changed {tables}")
    assert wrong == []


def _dead(world: World) -> dict[str, str]:
    """Tokens that open nothing, and what else somebody may try."""
    team, now, admin = world.here.team, datetime.now(UTC), world.cast["admin"].user
    people = {name: world.cast[name].user for name in (DEACTIVATED, TEAMLESS, SUPERUSER, FOREIGNER)}
    dead = {f"of {name}": a_token(team, user)[1] for name, user in people.items()}
    dead["revoked"] = a_token(team, admin, revoked_at=now)[1]
    dead["expired"] = a_token(team, admin, expires_at=now - timedelta(seconds=1))[1]
    dead["of a revoked service"] = a_token(team, created_by=admin, revoked_at=now)[1]
    return {**dead, "none": "", "made up": "mdk_" + "0" * 38, "a session": "sessionid"}


@pytest.mark.parametrize("key", API_ROWS)
def test_a_token_that_opens_nothing_opens_nothing(world: World, key: tuple[str, str]) -> None:
    row, wrong = API_ROWS[key], []
    with undone():
        dead, before = _dead(world), snapshot()
        for who, secret in dead.items():
            answer = _ask(world, who, secret, key[0], _at(key), row)
            wrong += _wrong(key, who, answer, 401)
            wrong += [f"{who}: {table}" for table in set(changed(before)) - COUNTED]
    assert wrong == []


def _foreign(world: World, user: User | None, team: Team) -> str:
    return a_token(team, user, created_by=world.cast[FOREIGNER].user)[1]


@pytest.mark.parametrize("key", API_ROWS)
def test_what_belongs_to_another_team_does_not_exist(world: World, key: tuple[str, str]) -> None:
    """Rights of one team count for nothing in the other, also of somebody who is in both."""
    row, wrong = API_ROWS[key], []
    with undone():
        there = world.elsewhere.team
        tokens = {
            FOREIGNER: _foreign(world, world.cast[FOREIGNER].user, there),
            VISITOR: _foreign(world, world.cast[VISITOR].user, there),
            SERVICE: _foreign(world, None, there),
        }
        before = snapshot()
        for who, secret in tokens.items():
            answer = _ask(world, who, secret, key[0], _at(key), row)
            names = "{" in f"{row.at}{row.body or ''}".replace("{'", "")
            own = row.service if who == SERVICE else row.says["admin"]
            refused = 403 if who == SERVICE and own == 403 else row.foreign
            expected = refused if names else own
            if answer.status != expected:
                wrong.append(f"{who}: {key} is {answer.status}, not {expected}")
            here = [one for one in answer.found if set(EVERYBODY) & one.readers]
            wrong += [f"{who}: {key} shows {one}" for one in here if FOREIGNER not in one.readers]
            if expected >= 400:
                wrong += [f"{who}: {table}" for table in set(changed(before)) - COUNTED]
            before = snapshot()
    assert wrong == []


@pytest.mark.parametrize("who", [*EVERYBODY, SERVICE])
def test_what_more_there_is_to_read_is_for_these_eyes_only(world: World, who: str) -> None:
    wrong: list[str] = []
    with _holders(world) as holders:
        for path in MORE_TO_READ:
            answer = _ask(world, who, holders[who], "GET", path)
            wrong += _wrong(("GET", path), who, answer, 200)
    assert wrong == []


@pytest.mark.parametrize("role", EVERYBODY)
def test_whoever_may_read_what_an_operation_carried_meets_it(world: World, role: str) -> None:
    """Else the tests above would be content with empty answers."""
    met: set[Planted] = set()
    with _holders(world) as holders:
        for path in MORE_TO_READ:
            met |= _ask(world, role, holders[role], "GET", path).found
    carried = ("arguments", "question", "result", "field")
    theirs = {
        one for one in world.garden.planted.values() if role in one.readers and one.label in carried
    }
    assert {str(one) for one in theirs - met} == set()

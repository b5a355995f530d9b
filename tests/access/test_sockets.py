"""What a page's socket says, and to whom: ids of one's own team, and nothing else ever."""

import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings as django_settings
from django.db import transaction
from django.test import Client
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from mcpdesk.accounts.models import Role, Team, User
from mcpdesk.audit.kinds import KINDS
from mcpdesk.audit.log import DESK, record
from mcpdesk.web import consumers
from mcpdesk.web.routing import websocket_urlpatterns
from tests.access.actors import DEACTIVATED, EVERYBODY, NOBODY, SUPERUSER, TEAMLESS, Actor, cast
from tests.factories import TeamFactory, UserFactory
from tests.web.conftest import _no_connections_left, desk_url, live_layer  # noqa: F401

#: Every address of a socket, and who is let in; a new one needs a line here, and tests below.
SOCKETS = {"ws/live/": "members of a team", "": "nobody: the rest is denied"}
WITHIN_S = 10
CLOSED = {NOBODY: 4401, DEACTIVATED: 4401, TEAMLESS: 4403, SUPERUSER: 4403}
IDS = {"operation", "approval", "server"}


@pytest.fixture
def teams(live_layer: str) -> list[Team]:  # noqa: F811 - a fixture
    return [TeamFactory(name="Here"), TeamFactory(name="Elsewhere")]


@pytest.fixture
def actors(teams: list[Team]) -> dict[str, Actor]:
    return cast(*teams)


@pytest.fixture
def listen(desk_url: str) -> Iterator[Any]:  # noqa: F811 - a fixture
    """listen(actor) is the socket of a page of theirs."""
    opened: list[ClientConnection] = []

    def listen(actor: Actor) -> ClientConnection:
        name = django_settings.SESSION_COOKIE_NAME
        cookie = actor.client.cookies.get(name)
        socket = connect(
            desk_url.replace("http:", "ws:") + "/ws/live/",
            origin=desk_url,  # type: ignore[arg-type]
            additional_headers={"Cookie": f"{name}={cookie.value if cookie else ''}"},
        )
        opened.append(socket)
        return socket

    yield listen
    for socket in opened:
        socket.close()


def _happens(team: Team, kind: str = "operation.check_requested", **data: Any) -> None:
    """An event in a team, committed as the product commits it."""
    with transaction.atomic():
        record(kind, team_id=team.pk, actor=DESK, now=datetime.now(UTC), **data)


def _heard(socket: ClientConnection, until: str) -> list[str]:
    """All frames up to the one that names this id."""
    frames = []
    while not frames or until not in frames[-1]:
        frames.append(str(socket.recv(WITHIN_S)))
    return frames


def test_every_socket_of_the_desk_is_known() -> None:
    routes = {str(pattern.pattern) for pattern in websocket_urlpatterns}
    assert routes == set(SOCKETS), "say in tests/access/test_sockets.py who may open it"


def test_each_role_hears_of_its_own_team_and_of_no_other(
    teams: list[Team], actors: dict[str, Actor], listen: Any
) -> None:
    members = [actor for actor in actors.values() if actor.name not in CLOSED]
    sockets = {actor.name: listen(actor) for actor in members}
    for socket in sockets.values():
        assert json.loads(socket.recv(WITHIN_S)) == {"type": "ready"}
    ours, theirs = str(uuid4()), str(uuid4())
    for team, operation in ((teams[0], ours), (teams[1], theirs), (teams[0], ours)):
        _happens(team, operation_id=operation)
    for name, socket in sockets.items():
        mine, other = (ours, theirs) if name in EVERYBODY else (theirs, ours)
        assert not any(other in frame for frame in _heard(socket, mine)), name


@pytest.mark.parametrize("name", CLOSED)
def test_who_is_in_no_team_hears_nothing(
    teams: list[Team], actors: dict[str, Actor], listen: Any, name: str
) -> None:
    socket = listen(actors[name])
    _happens(teams[0], operation_id=uuid4())
    with pytest.raises(ConnectionClosed):
        socket.recv(WITHIN_S)
    assert socket.close_code == CLOSED[name]


def test_no_kind_of_event_puts_more_than_ids_into_a_frame(
    teams: list[Team], actors: dict[str, Actor], listen: Any
) -> None:
    """Of every kind there is, with a word of its own in every field that it may carry.

    One after the other: a layer keeps only so many that a page has not taken yet.
    """
    socket = listen(actors[Role.ADMIN])
    assert json.loads(socket.recv(WITHIN_S)) == {"type": "ready"}
    for kind, known in KINDS.items():
        operation = uuid4()
        ids = {"operation_id": operation, "approval_id": uuid4(), "server_id": 7}
        _happens(teams[0], kind, **ids, **dict.fromkeys(known.fields, "secretword"))
        _happens(teams[0], operation_id=operation)
        for frame in _heard(socket, str(operation)):
            said = json.loads(frame)
            assert said.keys() == IDS, frame
            assert "secretword" not in frame


def _give_role(admin: Client, membership: int) -> None:
    admin.post(f"/team/{membership}/role/", {"role": "viewer"})


def _remove(admin: Client, membership: int) -> None:
    admin.post(f"/team/{membership}/remove/")


def _deactivate(admin: Client, membership: int) -> None:
    admin.post(f"/team/{membership}/deactivate/")


def _give_password(admin: Client, membership: int) -> None:
    admin.post(f"/team/{membership}/password/")


@pytest.mark.parametrize(
    ("change", "code"),
    [(_remove, 4403), (_deactivate, 4401), (_give_password, 4401)],
    ids=["removed", "deactivated", "given a new password"],
)
def test_what_an_admin_does_to_a_person_closes_their_pages(
    teams: list[Team], actors: dict[str, Actor], listen: Any, change: Any, code: int
) -> None:
    approver = actors[Role.APPROVER]
    socket = listen(approver)
    assert json.loads(socket.recv(WITHIN_S)) == {"type": "ready"}
    change(actors[Role.ADMIN].client, _membership(approver, teams[0]))
    with pytest.raises(ConnectionClosed):
        while True:
            socket.recv(WITHIN_S)
    assert socket.close_code == code


def test_another_role_keeps_the_page_open_with_nothing_but_ids(
    teams: list[Team], actors: dict[str, Actor], listen: Any
) -> None:
    """What the person may see now is for the view to say that the page asks again."""
    auditor, operation = actors[Role.AUDITOR], str(uuid4())
    socket = listen(auditor)
    assert json.loads(socket.recv(WITHIN_S)) == {"type": "ready"}
    _give_role(actors[Role.ADMIN].client, _membership(auditor, teams[0]))
    _happens(teams[0], operation_id=operation)
    frames = [json.loads(frame) for frame in _heard(socket, operation)]
    assert all(frame.keys() in (IDS, {"type"}) for frame in frames)


def test_signing_out_closes_the_pages_of_that_session(
    teams: list[Team],
    actors: dict[str, Actor],
    listen: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(consumers, "CHECK_APART", timedelta(0))
    viewer = actors[Role.VIEWER]
    socket = listen(viewer)
    assert json.loads(socket.recv(WITHIN_S)) == {"type": "ready"}
    viewer.client.post("/accounts/logout/")
    _happens(teams[0], operation_id=uuid4())
    with pytest.raises(ConnectionClosed):
        socket.recv(WITHIN_S)
    assert socket.close_code == 4401


def test_what_another_team_does_closes_nobodys_page(
    teams: list[Team], actors: dict[str, Actor], listen: Any
) -> None:
    socket, operation = listen(actors[Role.OPERATOR]), str(uuid4())
    assert json.loads(socket.recv(WITHIN_S)) == {"type": "ready"}
    who = {"actor": DESK, "now": datetime.now(UTC), "person": UserFactory()}
    with transaction.atomic():
        record("member.removed", team_id=teams[1].pk, **who)
    _happens(teams[0], operation_id=operation)
    assert _heard(socket, operation)


def test_a_session_that_is_no_session_opens_nothing(listen: Any) -> None:
    for forged in ("", "x" * 32, "../../etc", "%00"):
        client = Client()
        client.cookies[django_settings.SESSION_COOKIE_NAME] = forged
        socket = listen(Actor("forged", None, client))
        with suppress(ConnectionClosed):
            assert not json.loads(socket.recv(WITHIN_S))
        assert socket.close_code == 4401


def _membership(actor: Actor, team: Team) -> int:
    assert isinstance(actor.user, User)
    return int(actor.user.memberships.get(team=team).pk)

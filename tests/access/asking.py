"""Asking an address as one of the actors, and what the matrix expects of the answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from django.db import connection
from django.http import HttpResponse
from django.test.utils import CaptureQueriesContext
from django.urls import resolve

from approvals import repair
from tasks_monitor.models import Operation
from tests.access.actors import (
    DEACTIVATED,
    FOREIGNER,
    NOBODY,
    SUPERUSER,
    TEAMLESS,
    VIEWER,
    VISITOR,
    Actor,
)
from tests.access.expected import Row, Statuses
from tests.access.planted import Planted, hides, is_markup
from tests.access.snapshot import undone
from tests.access.world import World

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"})
SIGN_IN = "/accounts/login/"


class Names(dict[str, Any]):
    """The things of a team by name; "token of question" is a form's token for one person, "seen of
    unknown operation" what stands for it as it is.
    """

    def __init__(self, world: World, actor: Actor) -> None:
        super().__init__(world.here.ids)
        self.world, self.actor = world, actor

    def __missing__(self, name: str) -> str:
        if name.startswith("seen of "):
            return repair.seen_of(Operation.objects.get(pk=self[name.removeprefix("seen of ")]))
        assert name.startswith("token of "), f"the world has no {name} (tests/access/world.py)"
        return self.world.token(self.actor, name.removeprefix("token of "))


@dataclass(frozen=True, slots=True)
class _Quoted:
    """The same, as they stand in an address."""

    names: Names

    def __getitem__(self, name: str) -> str:
        return quote(str(self.names[name]), safe="")


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, and what of all that was planted stood in it."""

    response: HttpResponse
    found: frozenset[Planted]
    queries: int
    has_markup: bool
    hides: bool

    @property
    def status(self) -> int:
        """A partial is sent to sign in by a header, for the whole page to go there."""
        return 302 if self.response.get("HX-Redirect") else self.response.status_code

    @property
    def leads_to(self) -> str:
        target = self.response.get("HX-Redirect") or self.response.get("Location", "")
        return urlsplit(target).path


def ask(
    world: World,
    actor: Actor,
    method: str,
    address: str,
    form: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """One request of this actor. Call it within `undone()` unless what it does shall stay."""
    actor.client.cookies.pop("messages", None)
    names = Names(world, actor)
    data = {k.format_map(names): v.format_map(names) for k, v in (form or {}).items()}
    send = getattr(actor.client, method.lower())
    more: dict[str, Any] = {"data": data} if method == "POST" else {}
    with CaptureQueriesContext(connection) as queries:
        response = send(address, headers=dict(headers or {}), **more)
    said = f"{address} {data}"
    heads = "\n".join(f"{name}: {value}" for name, value in response.headers.items())
    cookies = response.cookies.output()
    body = b"".join(response).decode(errors="replace")  # a stream has no value of its own
    seen = world.garden.found_in(f"{heads}\n{cookies}\n{body}")
    # what was sent along by whoever asked is no news to them
    news = seen - world.garden.found_in(said)
    as_html = response.headers.get("Content-Type", "").startswith("text/html")
    markup, hidden = as_html and is_markup(body), as_html and hides(body)
    return Answer(response, frozenset(news), len(queries), markup, hidden)


def addresses(world: World, actor: Actor, route: str, row: Row) -> list[str]:
    """The addresses of a row, with ids of the team; each is one of its route's."""
    names = Names(world, actor)
    found = [at.format_map(_Quoted(names)) for at in row.at or (f"/{route}",)]
    for address in found:
        assert resolve(urlsplit(address).path).route == route, f"{address} is not /{route}"
    return found


def expected(row: Row, says: Statuses | None, actor: Actor, at: str) -> int:
    """The status for this actor, where `at` is all that can name a thing of the team."""
    if says is None:
        return 405
    if actor.name in (NOBODY, DEACTIVATED):
        return 302
    if actor.name in (TEAMLESS, SUPERUSER):
        return 403
    if actor.name == VISITOR and row.any_team:
        return says[VIEWER]
    if is_foreign(row, actor, at):
        return row.foreign
    return says[actor.role]


def is_foreign(row: Row, actor: Actor, at: str) -> bool:
    """Whether this actor, as they look at it, names a thing of another team."""
    elsewhere = actor.name == FOREIGNER or (actor.name == VISITOR and not row.any_team)
    return elsewhere and "{" in at.replace("{{", "")


def acts(row: Row, actor: Actor, at: str) -> bool:
    """Whether a POST of this actor is to change something."""
    if expected(row, row.post, actor, at) >= 400 or is_foreign(row, actor, at):
        return False
    role = VIEWER if actor.name == VISITOR and row.any_team else actor.role
    return bool(role) and (row.acts is None or role in row.acts)


def unread(answer: Answer, actor: Actor) -> set[Planted]:
    """What stood in an answer and was not for this actor's eyes."""
    return {planted for planted in answer.found if actor.name not in planted.readers}


def quiet(world: World, actor: Actor, method: str, address: str, **more: Any) -> Answer:
    """ask(), and whatever it did is undone."""
    with undone():
        return ask(world, actor, method, address, **more)

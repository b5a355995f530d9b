"""Servers: add, change, and find out what is there."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from unittest import mock

import pytest
from cryptography.fernet import Fernet
from django.core.exceptions import PermissionDenied
from django.db import connection, transaction

from mcpdesk.accounts.models import Membership, Role
from mcpdesk.audit.log import DESK
from mcpdesk.audit.models import Event
from mcpdesk.mcp.tools import RejectedTool
from mcpdesk.mcp.tools import Tool as ListedTool
from tasks_monitor.engine import health, servers
from tasks_monitor.engine.errors import Refused
from tasks_monitor.engine.health import note_exchanges
from tasks_monitor.engine.servers import (
    add_server,
    bearer,
    change_server,
    keep_newer_tools,
    pause_server,
)
from tasks_monitor.engine.servers import test_server as look_at_server
from tasks_monitor.models import Answerers, AuthKind, Era, Server, Tool
from tasks_monitor.session import ToolList
from tasks_monitor.transport import Endpoint
from tests.engine.conftest import an_admin
from tests.engine.desk import Desk, ScriptedDesk, spoil
from tests.engine.peer import Nothing, step
from tests.engine.racing import Meeting, locks_off, side_by_side, while_demoted
from tests.factories import ServerFactory
from tests.simulator.process import SimulatorProcess

pytestmark = pytest.mark.django_db

TOKEN = bearer("CANARY-TOKEN")


def added(desk: ScriptedDesk, **changes: Any) -> Server:
    request = {
        "team_id": desk.server.team_id,
        "name": "deploys",
        "url": "https://deploy.example.test/mcp",
        "identity": "bot",
        "auth_kind": AuthKind.NONE,
        "credential": None,
        "allow_private": False,
        "questions_to": Answerers.REQUESTER,
        "actor": desk.actor,
        "now": desk.clock.now,
    }
    return add_server(**{**request, **changes})


def changed(desk: ScriptedDesk, server: Server, **changes: Any) -> Server:
    names = ("name", "identity", "auth_kind", "allow_private", "questions_to", "paused")
    numbers = ("max_in_flight", "call_timeout_s")
    same = {name: getattr(server, name) for name in (*names, *numbers)}
    more = {"credential": None, "actor": desk.actor, "now": desk.clock.now}
    return change_server(server.pk, **{**same, **more, **changes})


def kinds(server: Server) -> list[str]:
    return list(Event.objects.filter(server_id=server.pk).values_list("kind", flat=True))


def test_a_server_is_added_untested_and_nothing_is_sent(scripted: ScriptedDesk) -> None:
    server = added(scripted, auth_kind=AuthKind.BEARER, credential=TOKEN)

    assert (server.era, server.tested_at) == (Era.UNTESTED, None)
    assert Server.objects.get(pk=server.pk).credential == TOKEN
    assert kinds(server) == ["server.added"]
    assert scripted.peer.sent == []


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"name": ""}, "small letters"),
        ({"name": "With Capitals"}, "small letters"),
        ({"name": "x" * 41}, "small letters"),
        ({"identity": "x" * 81}, "80 characters"),
        ({"auth_kind": "magic"}, "listed options"),
        ({"questions_to": "nobody"}, "listed options"),
        ({"url": "ftp://host/mcp"}, "whole address"),
        ({"url": "/mcp"}, "whole address"),
        ({"url": "https://user:pw@host/mcp"}, "user name and password"),
        ({"url": "https://host:0/mcp"}, "whole address"),
        ({"url": "https://host:99999/mcp"}, "not a URL"),
        ({"url": "https://host/mcp#part"}, "characters or parts"),
        ({"url": "https://host/\tmcp"}, "characters or parts"),
        ({"auth_kind": AuthKind.BEARER}, "credential"),
        ({"credential": TOKEN}, "credential"),
        ({"auth_kind": "headers", "credential": {"headers": [["Host", "x"]]}}, "cannot be sent"),
        ({"auth_kind": "headers", "credential": {"headers": [["Mcp-Name", "x"]]}}, "cannot be"),
        ({"auth_kind": "headers", "credential": {"headers": [["X", "a\r\nb"]]}}, "header cannot"),
    ],
)
def test_what_no_request_could_use_is_refused(
    scripted: ScriptedDesk, change: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(Refused, match=sentence):
        added(scripted, **change)
    assert not Server.objects.filter(name="deploys").exists()


def test_a_name_is_taken_once_in_a_team(scripted: ScriptedDesk) -> None:
    added(scripted)

    with pytest.raises(Refused, match="already"):
        added(scripted)
    other = ServerFactory().team
    assert added(scripted, team_id=other.pk, actor=an_admin(other))


def test_a_refusal_never_repeats_the_credential(scripted: ScriptedDesk) -> None:
    bad = {"headers": [["X-Key", "CANARY\n"]]}

    with pytest.raises(Refused) as refused:
        added(scripted, auth_kind="headers", credential=bad)
    assert "CANARY" not in refused.value.sentence


def test_a_change_names_its_fields_and_nothing_of_their_content(scripted: ScriptedDesk) -> None:
    server = added(scripted)
    changed(scripted, server, auth_kind=AuthKind.BEARER, credential=TOKEN, paused=True)

    event = Event.objects.get(server_id=server.pk, kind="server.changed")
    assert event.data["fields"] == "auth_kind, credential, paused"
    assert "CANARY" not in str(event.data)


def test_a_credential_stays_unless_another_one_is_given(scripted: ScriptedDesk) -> None:
    server = added(scripted, auth_kind=AuthKind.BEARER, credential=TOKEN)

    assert changed(scripted, server, paused=True).credential == TOKEN
    assert changed(scripted, server, credential=bearer("new")).credential == bearer("new")
    assert changed(scripted, server, auth_kind=AuthKind.NONE).credential is None


@pytest.fixture
def lost(scripted: ScriptedDesk) -> Server:
    """A server with a credential and findings that no key opens any more."""
    server = added(scripted, auth_kind=AuthKind.BEARER, credential=TOKEN)
    for column in ("credential", "discovery"):
        spoil("server", column, server.pk)
    return Server.objects.defer("credential", "discovery").get(pk=server.pk)


def test_a_credential_that_no_key_opens_can_be_replaced(
    scripted: ScriptedDesk, lost: Server
) -> None:
    changed(scripted, lost, credential=bearer("new"))

    assert Server.objects.defer("discovery").get(pk=lost.pk).credential == bearer("new")
    event = Event.objects.get(server_id=lost.pk, kind="server.changed")
    assert event.data["fields"] == "credential"


def test_a_credential_that_no_key_opens_hinders_no_other_change(
    scripted: ScriptedDesk, lost: Server
) -> None:
    changed(scripted, lost, max_in_flight=3)
    changed(scripted, lost, auth_kind=AuthKind.NONE, max_in_flight=3)

    now = Server.objects.defer("discovery").get(pk=lost.pk)
    assert (now.max_in_flight, now.auth_kind, now.credential) == (3, AuthKind.NONE, None)


def test_a_credential_that_no_key_opens_is_not_tested_and_a_sentence_says_what_to_do(
    scripted: ScriptedDesk, lost: Server
) -> None:
    with pytest.raises(Refused, match="give the credential once more"):
        look_at_server(lost.pk, actor=scripted.actor, now=scripted.clock.now)


def test_a_test_finds_out_again_what_no_key_opens(desk: Desk) -> None:
    spoil("server", "discovery", desk.server.pk)
    look_at_server(desk.server.pk, actor=desk.actor, now=desk.clock.now)

    assert Server.objects.get(pk=desk.server.pk).discovery["serverInfo"]


def test_a_change_of_nothing_is_no_event(scripted: ScriptedDesk) -> None:
    server = added(scripted)
    changed(scripted, server)

    assert kinds(server) == ["server.added"]


@pytest.mark.parametrize("change", [{"max_in_flight": 0}, {"call_timeout_s": 0}, {"name": "-"}])
def test_a_change_that_is_refused_writes_nothing(
    scripted: ScriptedDesk, change: dict[str, Any]
) -> None:
    server = added(scripted)

    with pytest.raises(Refused):
        changed(scripted, server, **change)
    assert kinds(server) == ["server.added"]


def test_a_new_credential_ends_the_pause_of_an_old_one(scripted: ScriptedDesk) -> None:
    later = scripted.clock.now + timedelta(hours=1)
    held = {"not_before": later, "not_before_reason": "authorization"}
    bearing = {"auth_kind": AuthKind.BEARER, "credential": TOKEN}
    server = ServerFactory(team=scripted.server.team, **bearing, **held)

    assert changed(scripted, server, paused=True).not_before == later
    assert changed(scripted, server, credential=bearer("new")).not_before is None


def test_a_test_finds_era_version_and_tools(desk: Desk) -> None:
    server = look_at_server(desk.server.pk, actor=desk.actor, now=desk.clock.now)

    assert (server.era, server.test_problem) == (Era.MODERN, "")
    assert server.protocol_version == "2026-07-28"
    assert server.tools_fetched_at == desk.clock.now
    assert server.tools.filter(name="echo", problem="").exists()
    assert kinds(server) == ["server.tested"]


def test_a_second_test_replaces_the_list(desk: Desk) -> None:
    look_at_server(desk.server.pk, actor=desk.actor, now=desk.clock.now)
    Tool.objects.create(server=desk.server, name="gone", definition={})

    server = look_at_server(desk.server.pk, actor=desk.actor, now=desk.clock.now)

    assert not server.tools.filter(name="gone").exists()
    assert server.tools.filter(name="echo").count() == 1


def test_bad_tools_are_kept_with_their_problem(desk: Desk) -> None:
    desk.server.url += "?fault=list-bad-tools&on=tools/list"
    desk.server.save()
    server = look_at_server(desk.server.pk, actor=desk.actor, now=desk.clock.now)

    assert server.tools.exclude(problem="").exists()
    assert server.tools.filter(name="echo", problem="").exists()


def test_an_unreachable_server_keeps_its_tools_and_says_why(desk: Desk) -> None:
    look_at_server(desk.server.pk, actor=desk.actor, now=desk.clock.now)
    Server.objects.filter(pk=desk.server.pk).update(url="http://127.0.0.1:9/mcp")

    server = look_at_server(desk.server.pk, actor=desk.actor, now=desk.clock.now)

    assert "refused the connection" in server.test_problem
    assert server.tools.filter(name="echo").exists()
    assert server.era == Era.MODERN


@pytest.fixture(scope="module")
def legacy() -> Iterator[SimulatorProcess]:
    with SimulatorProcess("--legacy") as process:
        yield process


def test_a_legacy_server_is_remembered_as_one(desk: Desk, legacy: SimulatorProcess) -> None:
    Server.objects.filter(pk=desk.server.pk).update(url=legacy.url)
    server = look_at_server(desk.server.pk, actor=desk.actor, now=desk.clock.now)

    assert server.era == Era.LEGACY
    assert server.test_problem
    with pytest.raises(Refused, match="older protocol"):
        desk.start("echo")


def test_a_server_that_has_only_other_versions_says_which(desk: Desk) -> None:
    desk.server.url += "?fault=version-unsupported&on=server/discover"
    desk.server.save()
    server = look_at_server(desk.server.pk, actor=desk.actor, now=desk.clock.now)

    assert "2099-01-01" in server.test_problem


def test_a_list_read_on_the_way_replaces_the_older_one(scripted: ScriptedDesk) -> None:
    Tool.objects.create(server=scripted.server, name="old", definition={})
    keep_newer_tools(scripted.server.pk, ToolList((), ()), scripted.clock.now)

    assert not scripted.server.tools.exists()


def test_an_unknown_server_does_not_exist(scripted: ScriptedDesk) -> None:
    with pytest.raises(Server.DoesNotExist):
        look_at_server(0, actor=scripted.actor, now=scripted.clock.now)


@pytest.mark.django_db(transaction=True)
def test_of_two_servers_added_at_once_under_one_name_one_is_refused(
    scripted: ScriptedDesk,
) -> None:
    results = side_by_side(*[lambda: added(scripted)] * 2)

    assert {type(result) for result in results} == {Server, Refused}


def _change_while_health_is_noted(desk: ScriptedDesk) -> Server:
    """A server becomes unreachable at the very moment it is paused."""
    meeting = Meeting()
    exchange = step(None, Nothing(sent=False)).exchange  # type: ignore[arg-type]
    facts = mock.Mock(server_id=desk.server.pk, clock_skew_ms=0)

    def met(original: Any) -> Any:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            meeting.wait()
            return original(*args, **kwargs)

        return wrapped

    with (
        mock.patch.object(servers, "_check", met(servers._check)),
        mock.patch.object(health, "_record", met(health._record)),
    ):
        side_by_side(
            lambda: changed(desk, desk.server, paused=True),
            lambda: note_exchanges(facts, [exchange], desk.clock.now),
        )
    return Server.objects.get(pk=desk.server.pk)


@pytest.mark.django_db(transaction=True)
def test_a_change_and_what_health_notes_at_once_are_both_kept(scripted: ScriptedDesk) -> None:
    server = _change_while_health_is_noted(scripted)

    assert (server.paused, server.unreachable_since) == (True, scripted.clock.now)


@pytest.mark.django_db(transaction=True)
def test_control_without_the_lock_one_of_them_is_lost(scripted: ScriptedDesk) -> None:
    with locks_off():
        server = _change_while_health_is_noted(scripted)

    assert (server.paused, server.unreachable_since) != (True, scripted.clock.now)


def test_a_pause_takes_back_nothing_that_another_admin_changed(scripted: ScriptedDesk) -> None:
    server = scripted.server
    changed(scripted, server, max_in_flight=3)

    pause_server(server.pk, paused=True, actor=scripted.actor, now=scripted.clock.now)
    pause_server(server.pk, paused=True, actor=scripted.actor, now=scripted.clock.now)

    server.refresh_from_db()
    assert (server.paused, server.max_in_flight) == (True, 3)
    kept = Event.objects.filter(server_id=server.pk, kind="server.changed").order_by("id")
    assert [event.data["fields"] for event in kept] == ["max_in_flight", "paused"]


@pytest.mark.django_db(transaction=True)
def test_a_pause_waits_for_nobody_who_starts_a_call_meanwhile(scripted: ScriptedDesk) -> None:
    def pause() -> Server:
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '1s'")
        try:
            who = {"actor": scripted.actor, "now": scripted.clock.now}
            return pause_server(scripted.server.pk, paused=True, **who)
        finally:
            with connection.cursor() as cursor:
                cursor.execute("RESET lock_timeout")

    with transaction.atomic(), connection.cursor() as cursor:
        scripted.start()
        # its row names the server: PostgreSQL locks that one's key, as it would at the commit
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        (paused,) = side_by_side(pause)

    assert isinstance(paused, Server), paused


def test_a_pause_opens_nothing_that_is_sealed(scripted: ScriptedDesk, settings: Any) -> None:
    server = added(scripted, auth_kind=AuthKind.BEARER, credential=TOKEN)
    settings.ENCRYPTION_KEYS = [Fernet.generate_key().decode()]

    pause_server(server.pk, paused=True, actor=scripted.actor, now=scripted.clock.now)

    assert Server.objects.values_list("paused", flat=True).get(pk=server.pk)


def test_a_tool_listed_twice_stays_callable(scripted: ScriptedDesk) -> None:
    raw = {"name": "deploy", "inputSchema": {"type": "object"}}
    deploy = ListedTool("deploy", "", "", raw["inputSchema"], None, {}, (), raw)
    again = RejectedTool("deploy", "Another tool has this name.")

    keep_newer_tools(scripted.server.pk, ToolList((deploy,), (again,)), scripted.clock.now)

    assert [(t.name, t.problem) for t in scripted.server.tools.all()] == [("deploy", "")]


def _added(desk: ScriptedDesk) -> Server:
    return added(desk)


def _changed(desk: ScriptedDesk) -> Server:
    return changed(desk, desk.server, max_in_flight=3)


def _paused(desk: ScriptedDesk) -> Server:
    who = {"actor": desk.actor, "now": desk.clock.now}
    return pause_server(desk.server.pk, paused=True, **who)


VERBS = pytest.mark.parametrize("verb", [_added, _changed, _paused])


@VERBS
@pytest.mark.django_db(transaction=True)
def test_who_is_demoted_at_that_moment_changes_no_server_and_is_told(
    scripted: ScriptedDesk, verb: Callable[[ScriptedDesk], Server]
) -> None:
    told = while_demoted(Membership.objects.get(), lambda: verb(scripted))

    assert isinstance(told, PermissionDenied) and "does not allow you" in str(told)
    assert not Event.objects.exists()


@VERBS
@pytest.mark.django_db(transaction=True)
def test_control_without_the_lock_who_is_demoted_changes_a_server(
    scripted: ScriptedDesk, verb: Callable[[ScriptedDesk], Server]
) -> None:
    with locks_off():
        told = while_demoted(Membership.objects.get(), lambda: verb(scripted))

    assert isinstance(told, Server)


def test_what_a_test_found_is_not_kept_for_who_was_demoted_while_the_server_was_asked(
    scripted: ScriptedDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def look(_: Endpoint) -> Any:
        await Membership.objects.aupdate(role=Role.OPERATOR)
        return None, None

    monkeypatch.setattr(servers, "_look", look)
    with pytest.raises(PermissionDenied, match="does not allow you"):
        look_at_server(scripted.server.pk, actor=scripted.actor, now=scripted.clock.now)
    assert not Event.objects.exists()


def test_the_desk_itself_changes_no_server(scripted: ScriptedDesk) -> None:
    with pytest.raises(PermissionDenied, match="not a member"):
        changed(scripted, scripted.server, paused=True, actor=DESK)

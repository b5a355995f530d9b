"""Servers: add, change, and find out what is there."""

import re
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlsplit

from asgiref.sync import async_to_sync
from cryptography.fernet import InvalidToken
from django.db import IntegrityError, transaction

from mcpdesk.audit.admins import locked_for
from mcpdesk.audit.log import Actor, record
from mcpdesk.mcp.outcomes import (
    Discovered,
    DiscoverOutcome,
    LegacyServer,
    Rejected,
    UnsupportedVersion,
)
from tasks_monitor.engine.endpoints import credential_headers, endpoint_of
from tasks_monitor.engine.errors import Refused
from tasks_monitor.models import Answerers, AuthKind, Era, Server, Tool
from tasks_monitor.session import Session, ToolList
from tasks_monitor.signals import server_identity_changed
from tasks_monitor.transport import Endpoint, Transport

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_HEADER_VALUE: Final = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]{0,4094}[\x21-\x7e])?")
#: Headers the protocol or HTTP itself decides; a credential may not set them.
_OURS: Final = re.compile(
    r"(?i)accept|content-.*|host|connection|transfer-encoding|mcp-.*|user-agent|cookie"
)
#: Columns that say as whom a call is made: who agreed to one agreed to these.
_SHOWN_TO_DECIDE: Final = frozenset({"name", "identity", "auth_kind", "credential"})

NO_KEY: Final = (
    "No key of this desk opens the credential that is stored. Nothing was sent: "
    "press “Change” and give the credential once more."
)


def bearer(token: str) -> dict[str, Any]:
    """The credential for a bearer token (RFC 6750)."""
    return {"headers": [["Authorization", f"Bearer {token}"]]}


@transaction.atomic
def add_server(
    *,
    team_id: int,
    name: str,
    url: str,
    identity: str,
    auth_kind: str,
    credential: dict[str, Any] | None,
    allow_private: bool,
    questions_to: str,
    actor: Actor,
    now: datetime,
) -> Server:
    """Add a server to the team; nothing is sent yet. Raises Refused, and PermissionDenied."""
    locked_for(actor, team_id)
    _check(name, url, identity, auth_kind, questions_to)
    _check_credential(auth_kind, credential)
    server = Server(
        team_id=team_id,
        name=name,
        url=url,
        identity=identity,
        auth_kind=auth_kind,
        credential=credential,
        allow_private=allow_private,
        questions_to=questions_to,
        created_at=now,
    )
    _save(server)
    _record(server, "server.added", actor, now)
    return server


@transaction.atomic
def change_server(
    server_id: int,
    *,
    name: str,
    identity: str,
    auth_kind: str,
    credential: dict[str, Any] | None,
    allow_private: bool,
    questions_to: str,
    paused: bool,
    max_in_flight: int,
    call_timeout_s: int,
    actor: Actor,
    now: datetime,
) -> Server:
    """Change what may change; `credential` None keeps the stored one. Raises Refused, and
    PermissionDenied.

    The address never changes: a task id means nothing on another server. A credential that is given
    counts as another one: what is stored is not read, so one that no key opens can be replaced.
    """
    server = _locked_for(actor, server_id)
    _check(name, server.url, identity, auth_kind, questions_to)
    is_replaced = credential is not None or auth_kind != server.auth_kind
    if is_replaced:
        _check_credential(auth_kind, credential)
    _check_limits(max_in_flight, call_timeout_s)
    wanted = {
        "name": name,
        "identity": identity,
        "auth_kind": auth_kind,
        **({"credential": credential} if is_replaced else {}),
        "allow_private": allow_private,
        "questions_to": questions_to,
        "paused": paused,
        "max_in_flight": max_in_flight,
        "call_timeout_s": call_timeout_s,
    }
    changed = [
        field
        for field, value in wanted.items()
        if field == "credential" or getattr(server, field) != value
    ]
    for field, value in wanted.items():
        setattr(server, field, value)
    if "credential" in changed and server.not_before_reason == "authorization":
        server.not_before, server.not_before_reason = None, ""
    if not _SHOWN_TO_DECIDE.isdisjoint(changed):
        # before the row: another name takes its key, and receivers lock items that refer to it
        server_identity_changed.send(None, server_id=server.pk, now=now)
    _save(server)
    if changed:
        _record(server, "server.changed", actor, now, fields=", ".join(changed))
    return server


@transaction.atomic
def pause_server(server_id: int, *, paused: bool, actor: Actor, now: datetime) -> Server:
    """Stop sending to the server, or go on; touches nothing that another admin may be changing.

    Raises PermissionDenied.
    """
    server = _locked_for(actor, server_id)
    if server.paused != paused:
        server.paused = paused
        server.save(update_fields=["paused"])
        _record(server, "server.changed", actor, now, fields="paused")
    return server


def _locked_for(actor: Actor, server_id: int) -> Server:
    """locked(), for an admin of the server's team.

    The team first, so that nobody who sends to the server waits for another admin. Raises
    PermissionDenied and Server.DoesNotExist.
    """
    locked_for(actor, Server.objects.values_list("team_id", flat=True).get(pk=server_id))
    return locked(server_id)


def locked(server_id: int) -> Server:
    """The server, locked until the transaction ends. Raises Server.DoesNotExist.

    Without the key: whoever approves, or starts, a call of it meanwhile writes rows that name it.
    What is encrypted stays behind: no key may open it any more.
    """
    found = Server.objects.select_for_update(no_key=True).defer("credential", "discovery")
    return found.get(pk=server_id)


def _save(server: Server) -> None:
    """Write it, new or changed. Raises Refused for the name of another server of its team."""
    try:
        with transaction.atomic():
            server.save()
    except IntegrityError:
        raise Refused(f"This team has a server named {server.name} already.") from None


def _check_limits(max_in_flight: int, call_timeout_s: int) -> None:
    if not 1 <= max_in_flight <= 100 or not 1 <= call_timeout_s <= 3600:
        raise Refused("Allow 1 to 100 requests at a time, and 1 to 3600 seconds for a call.")


def _check(
    name: str,
    url: str,
    identity: str,
    auth_kind: str,
    questions_to: str,
) -> None:
    if not _NAME.fullmatch(name):
        raise Refused("A name has 1 to 40 small letters, digits, dashes or underscores.")
    if len(identity) > 80 or "\x00" in identity:
        raise Refused("Say in at most 80 characters who we are on this server.")
    if auth_kind not in AuthKind.values or questions_to not in Answerers.values:
        raise Refused("Choose one of the listed options.")
    check_url(url)


def check_url(url: str) -> None:
    """Refuse an address that no request could go to. Raises Refused."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise Refused("The address is not a URL.") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname or port == 0:
        raise Refused("Give the whole address, such as https://host.example/mcp.")
    if parts.username is not None or parts.password is not None:
        raise Refused("Leave user name and password out of the address: use the credential.")
    if parts.fragment or len(url) > 2000 or not url.isascii() or re.search(r"[\s\x00-\x1f]", url):
        raise Refused("The address has characters or parts that a request cannot carry.")


def _check_credential(auth_kind: str, credential: dict[str, Any] | None) -> None:
    headers = credential_headers(credential)
    if (auth_kind == AuthKind.NONE) != (not headers):
        raise Refused("Give the credential that goes with the chosen kind, or choose none.")
    for name, value in headers:
        if not _HEADER_NAME.fullmatch(name) or _OURS.fullmatch(name):
            raise Refused(f"{name} cannot be sent as a header of a credential.")
        if not _HEADER_VALUE.fullmatch(value):
            raise Refused(f"The value of {name} has characters that a header cannot carry.")


def test_server(server_id: int, *, actor: Actor, now: datetime) -> Server:
    """Ask the server who it is and what tools it has, and keep what was found.

    Talks to the network, so it must not be called inside a transaction. Raises Refused for a
    credential that no key opens, PermissionDenied and Server.DoesNotExist.
    """
    try:
        endpoint = endpoint_of(Server.objects.defer("discovery").get(pk=server_id))
    except InvalidToken:
        raise Refused(NO_KEY) from None
    found, tools = async_to_sync(_look)(endpoint)
    with transaction.atomic():
        server = _locked_for(actor, server_id)
        _keep_discovery(server, found, now)
        if tools is not None:
            _keep_listing(server, tools, now)
        server.save()
        outcome = server.test_problem or f"{server.get_era_display()}, {server.tools.count()} tools"
        _record(server, "server.tested", actor, now, outcome=outcome[:200])
    return server


async def _look(endpoint: Endpoint) -> tuple[DiscoverOutcome, Any]:
    transport = Transport()
    try:
        session = Session(transport, endpoint)
        found = (await session.discover()).outcome
        if not isinstance(found, Discovered):
            return found, None
        return found, (await session.list_tools()).outcome
    finally:
        await transport.aclose()


def _keep_discovery(server: Server, found: DiscoverOutcome, now: datetime) -> None:
    server.tested_at = now
    server.test_problem = _discovery_problem(found)
    if isinstance(found, Discovered):
        server.era = Era.MODERN
        server.protocol_version = (found.supported_versions or ("",))[0][:32]
        server.discovery = {
            "serverInfo": found.server_info,
            "capabilities": found.capabilities,
            "instructions": found.instructions,
            "supportedVersions": list(found.supported_versions),
        }
    elif isinstance(found, LegacyServer):
        server.era = Era.LEGACY


def _discovery_problem(found: DiscoverOutcome) -> str:
    if isinstance(found, Discovered):
        return ""
    if isinstance(found, LegacyServer):
        return found.reason
    if isinstance(found, UnsupportedVersion):
        versions = ", ".join(found.supported[:10]) or "none it named"
        return f"The server speaks other versions of the protocol: {versions}."
    if isinstance(found, Rejected):
        return f"The server refused to say what it offers (error {found.code})."
    return found.sentence


def _keep_listing(server: Server, tools: Any, now: datetime) -> None:
    if isinstance(tools, ToolList):
        server.test_problem = tools.problem or ""
        keep_tools(server, tools, now)
    else:
        server.test_problem = _discovery_problem(tools)


@transaction.atomic
def keep_newer_tools(server_id: int, tools: ToolList, now: datetime) -> None:
    """Keep a list that was read on the way to something else."""
    keep_tools(locked(server_id), tools, now)


def keep_tools(server: Server, tools: ToolList, now: datetime) -> None:
    """Replace the list of tools as a whole; of two with one name the first usable one counts."""
    rows = {
        t.name: Tool(server=server, name=t.name, definition=t.raw)
        for t in tools.tools
        if _storable(t.name)
    }
    for rejected in tools.rejected:
        if _storable(rejected.name) and rejected.name not in rows:
            rows[rejected.name] = Tool(
                server=server, name=rejected.name, definition={}, problem=rejected.reason[:500]
            )
    server.tools.all().delete()
    Tool.objects.bulk_create(rows.values())
    server.tools_fetched_at = now
    server.save(update_fields=["tools_fetched_at"])


def _storable(name: str) -> bool:
    """A name that PostgreSQL's text takes."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return 0 < len(name) <= 256 and "\x00" not in name


def _record(server: Server, kind: str, actor: Actor, now: datetime, **data: Any) -> None:
    record(
        kind,
        team_id=server.team_id,
        server_id=server.pk,
        actor=actor,
        now=now,
        server=server.name,
        **data,
    )

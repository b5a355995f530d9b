"""Who and what the made-up history is about: a team, its people, servers and tools."""

import random
from dataclasses import dataclass
from datetime import datetime

from mcpdesk.accounts.models import Membership, Role, Team, User
from tasks_monitor.models import Era, Server, Tool

_FIRST = "Ada Bo Cleo Dan Eva Finn Gita Hugo Ida Jan Kim Lea Mo Nia Ole Pia Quin Rosa Sam Tea"
_LAST = "Adler Brandt Costa Dahl Ek Frank Gruber Holm Ito Jansen"
_SERVERS = {
    "build": "build_image run_tests publish_package deploy_project roll_back",
    "warehouse": "run_report export_rows load_table refresh_view",
    "billing": "issue_refund send_invoice close_month",
    "support": "draft_reply close_ticket merge_tickets",
    "cloud": "resize_cluster rotate_secret delete_bucket create_network",
    "mail": "send_newsletter clean_list",
    "search": "rebuild_index compare_rankings",
    "legal": "redact_document",
}
_REASONS = (
    "release {n} to production",
    "ticket {n}: the customer waits",
    "weekly report for region {n}",
    "asked by finance, order {n}",
    "clean up after incident {n}",
    "",
)


@dataclass(frozen=True, slots=True)
class Cast:
    """The team that the history is about, as lists to pick from; the first ones do the most."""

    team: Team
    people: list[User]
    deciders: list[User]
    servers: list[Server]
    tools: list[tuple[Server, str]]


def assemble(now: datetime, people: int) -> Cast:
    """Make the team. Nobody of it can sign in by a password."""
    team = Team.objects.create(name="Long history", slug="long-history")
    users = [_person(number) for number in range(people)]
    roles = [Role.ADMIN, Role.AUDITOR, Role.APPROVER, Role.OPERATOR, Role.OPERATOR, Role.VIEWER]
    memberships = [
        Membership(team=team, user=user, role=roles[number % len(roles)])
        for number, user in enumerate(users)
    ]
    Membership.objects.bulk_create(memberships)
    deciders = [m.user for m in memberships if m.role in (Role.ADMIN, Role.APPROVER)]
    servers = [_server(team, name, now) for name in _SERVERS]
    tools = [(server, tool) for server in servers for tool in _SERVERS[server.name].split()]
    return Cast(team, users, deciders, servers, tools)


def reason(chance: random.Random) -> str:
    """Why somebody started it."""
    return chance.choice(_REASONS).format(n=chance.randrange(1000, 9999))


def _person(number: int) -> User:
    firsts, lasts = _FIRST.split(), _LAST.split()
    name = f"{firsts[number % len(firsts)]} {lasts[number // len(firsts) % len(lasts)]}"
    user = User(email=f"person{number}@history.example", name=name)
    user.set_unusable_password()
    user.save()
    return user


def _server(team: Team, name: str, now: datetime) -> Server:
    server = Server.objects.create(
        team=team,
        name=name,
        url=f"https://{name}.history.example/mcp",
        era=Era.MODERN,
        paused=True,
        created_at=now,
    )
    Tool.objects.bulk_create(
        Tool(server=server, name=tool, definition={"name": tool, "inputSchema": {"type": "object"}})
        for tool in _SERVERS[name].split()
    )
    return server

"""Every page there is, each as somebody would meet it, for pictures and for axe."""

import json
from dataclasses import dataclass, replace
from datetime import timedelta
from urllib.parse import urlsplit

from django.utils import timezone
from playwright.sync_api import Page, expect

from approvals.models import Approval, ApprovalState, PolicyRule
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Role
from mcpdesk.audit import passes, sealing
from mcpdesk.audit.admins import Who
from mcpdesk.notify import channels
from mcpdesk.notify.channels import Wanted
from mcpdesk.notify.models import ChannelKind
from tasks_monitor.models import Hold, Operation
from tasks_monitor.states import State
from tests.browser.people import Crew, Person, open_items, path, until
from tests.factories import AbsenceFactory, MembershipFactory
from tests.support.staff import make_staff, signed_in

#: Routes that answer GET with something other than a page of their own.
NO_PAGES = {
    "health": "for machines",
    "healthz": "for machines",
    "readyz": "for machines",
    "metrics": "for machines",
    "alerts_badge": "a part of every page",
    "inbox_badge": "a part of every page",
    "holds": "a part of every page",
    "inbox_item_live": "a part of an item's page",
    "inbox_item_beside": "a part of an item's page",
    "inbox_item_work": "a part of an item's page",
    "operation_result": "a file",
    "operation_result_part": "a file",
    "policies_export": "a file",
    "push_worker": "a script for the browser",
    "api_nowhere": "for machines",
    "audit_state": "a part of the log's pages",
}


@dataclass(frozen=True, slots=True)
class Shot:
    """One page: its name, the route it shows (empty: none of ours), who looks, and where."""

    name: str
    route: str
    person: Person | None
    path: str


def _run(team: Crew, server: int, tool: str, arguments: str = "{}", reason: str = "") -> str:
    return team.start(server, tool, arguments, reason=reason)


def _wait(operation: str, *states: State) -> str:
    until(lambda: Operation.objects.get(pk=operation).state in states)
    return operation


def shots(team: Crew, server: int, empty: Crew) -> list[Shot]:
    """Set the stage: operations in several states, items of every shape; then what to look at."""
    started = _operations(team, server)
    items = _items(team, server)
    return [
        *_inbox(team, items, empty),
        *_dashboards(team, empty),
        *_operation_pages(team, started),
        *_start_pages(team, server),
        *_server_pages(team, server),
        *_hold_pages(empty),
        *_policy_pages(team),
        *_audit_pages(team),
        *_history_pages(team),
        *_channel_pages(team),
        *_away_pages(team),
        *_account_pages(team),
        *_support_pages(team, server, started["completed"]),
    ]


def _operations(team: Crew, server: int) -> dict[str, str]:
    started = {
        "running": _run(team, server, "run_task", '{"duration_ms": 600000}', "Numbers for Monday"),
        "waiting": _run(team, server, "archive_tickets", "{}", "The ticket list has become slow"),
        "completed": _run(team, server, "search_orders", '{"query": "Lindgren"}'),
        "picture": _run(team, server, "test_multiple_content_types"),
        "error-of-the-tool": _run(team, server, "tool_error"),
        "failed": _run(team, server, "protocol_error"),
        "unknown": _run(team, server, "misbehave", '{"fault": "json-broken"}'),
    }
    _wait(started["running"], State.WORKING)
    _wait(started["waiting"], State.INPUT_REQUIRED)
    for name in ("completed", "picture", "error-of-the-tool"):
        _wait(started[name], State.COMPLETED)
    _wait(started["failed"], State.FAILED)
    _wait(started["unknown"], State.UNKNOWN)
    return started


def _items(team: Crew, server: int) -> dict[str, Approval]:
    asked = {
        "confirm": ("deploy_project", '{"project": "shop", "environment": "production"}'),
        "form": ("issue_refund", '{"order": "A-1041"}'),
        "link": ("connect_repository", '{"repository": "acme/reports"}'),
        "every-kind": ("ask_form", '{"question": "every-kind"}'),
        "hostile": ("ask_form", '{"question": "bidi"}'),
        "not-a-form": ("ask_form", '{"question": "nested"}'),
        "not-offered": ("ask_form", '{"question": "sampling"}'),
        "answered": ("ask_once", "{}"),
        "answered-form": ("issue_refund", '{"order": "B-2207"}'),
        "claimed": ("ask_once", "{}"),
        "two-questions": ("task_asks_many", '{"keys": 2}'),
        "gate": ("purge_partition", '{"partition": "events_2024_q1"}'),
        "gate-folded": ("purge_partition", json.dumps({"partition": "x" * 700})),
    }
    team.ask_first("purge_*", quorum="2", deadline="1440", at_deadline="deny")
    reason = "Release 43 to production"
    operations = {name: _run(team, server, *what, reason) for name, what in asked.items()}
    counts = {"two-questions": 2}
    items = {
        name: open_items(operation, counts.get(name, 1))[0]
        for name, operation in operations.items()
    }
    page = team.approver.open(path(items["answered"]), java_script_enabled=False)
    page.get_by_role("button", name="Decline").click()
    until(lambda: Approval.objects.get(pk=items["answered"].pk).state == ApprovalState.DECIDED)
    page = team.approver.open(path(items["answered-form"]), java_script_enabled=False)
    page.get_by_label("Amount in EUR").fill("12.50")
    page.get_by_text("Arrived too late").click()
    page.get_by_label("Message to the customer").fill("We are sorry.")
    page.get_by_role("button", name="Send").click()
    until(lambda: Approval.objects.get(pk=items["answered-form"].pk).state == ApprovalState.DECIDED)
    page = team.approver.open(path(items["claimed"]), java_script_enabled=False)
    page.get_by_role("button", name="Claim for 15 min").click()
    expect(page.get_by_text("You have claimed this")).to_be_visible()
    return items


def _inbox(team: Crew, items: dict[str, Approval], empty: Crew) -> list[Shot]:
    approver = team.approver
    lists = {
        "inbox": ("inbox", approver, "/inbox/"),
        "inbox-team": ("inbox", approver, "/inbox/?tab=team"),
        "inbox-decided": ("inbox", approver, "/inbox/?tab=decided"),
        "inbox-nothing-matches": ("inbox", approver, "/inbox/?tool=nothing-like-this"),
        "inbox-several": ("inbox_several", approver, _several(items)),
        "inbox-saved-lists": ("inbox_filters", approver, "/inbox/filters/"),
        "inbox-empty": ("inbox", empty.approver, "/inbox/"),
    }
    shown = [Shot(f"item-{n}", "inbox_item", approver, path(item)) for n, item in items.items()]
    started = Shot("gate-seen-by-operator", "inbox_item", team.operator, path(items["gate"]))
    seen = Shot("item-seen-by-auditor", "inbox_item", team.auditor, path(items["form"]))
    return [*(Shot(name, *where) for name, where in lists.items()), *shown, started, seen]


def _several(items: dict[str, Approval]) -> str:
    picked = "&".join(f"item={items[name].pk}" for name in ("gate", "confirm", "form"))
    return f"/inbox/several/?choice=approve&{picked}"


def _dashboards(team: Crew, empty: Crew) -> list[Shot]:
    return [
        Shot("dashboard", "dashboard", team.operator, "/"),
        Shot("dashboard-narrowed", "dashboard", team.auditor, "/?range=90d&tool=search_orders"),
        Shot("dashboard-empty", "dashboard", empty.approver, "/"),
    ]


def _operation_pages(team: Crew, started: dict[str, str]) -> list[Shot]:
    return [
        Shot("operations", "operations", team.operator, "/operations/"),
        *(
            Shot(f"operation-{name}", "operation", team.operator, f"/operations/{operation}/")
            for name, operation in started.items()
        ),
        Shot(
            "repair",
            "operation_reconcile",
            team.operator,
            f"/operations/{started['unknown']}/reconcile/",
        ),
        Shot("adopt", "operation_adopt", team.operator, "/operations/adopt/"),
    ]


def _start_pages(team: Crew, server: int) -> list[Shot]:
    here = f"/operations/new/?server={server}"
    places = {
        "start-server": "/operations/new/",
        "start-tool": here,
        "start-form": f"{here}&tool=run_report",
        "start-json": f"{here}&tool=run_report&as=json",
    }
    return [Shot(name, "operation_new", team.operator, where) for name, where in places.items()]


def _server_pages(team: Crew, server: int) -> list[Shot]:
    _make_tokens(team)
    gone = MembershipFactory(team=team.team, user__name="Gustav Gone", user__is_active=False)
    places = {
        "servers": ("servers", "/servers/"),
        "server": ("server", f"/servers/{server}/?q=re"),
        "server-new": ("server_new", "/servers/new/"),
        "server-edit": ("server_edit", f"/servers/{server}/edit/"),
        "hold-new": ("hold_new", f"/holds/new/?server={server}"),
        "server-durations": ("server_durations", f"/servers/{server}/durations/"),
        "alerts": ("alerts", "/alerts/"),
        "desk-health": ("desk_health", "/health/desk/"),
        "team": ("team", "/team/"),
        "person": ("person", f"/team/people/{team.approver.user.pk}/"),
        "who-could": ("who_could", "/team/who-could/"),
        "team-tokens": ("team_tokens", "/team/tokens/"),
        "retention": ("retention", "/team/retention/"),
        "erase": ("team_erase", f"/team/{gone.pk}/erase/"),
        "my-tokens": ("my_tokens", "/profile/tokens/"),
        "api-docs": ("api_docs", "/api/"),
        "profile": ("profile", "/profile/"),
    }
    return [Shot(name, route, team.admin, where) for name, (route, where) in places.items()]


def _make_tokens(team: Crew) -> None:
    team.admin.post("/team/tokens/", name="deploy-bot", scopes="start", days="365")
    team.admin.post("/profile/tokens/", name="Laptop", scopes="read", days="30")


def _hold_pages(stopped: Crew) -> list[Shot]:
    """A team of which nothing is sent: its pages show the banner."""
    stopped.operator.post("/holds/new/", reason="Payments that nobody asked for since noon")
    hold = Hold.objects.get(team_id=stopped.team.pk)
    return [
        Shot("hold-banner", "servers", stopped.admin, "/servers/"),
        Shot("hold-end", "hold_end", stopped.admin, f"/holds/{hold.pk}/end/"),
    ]


def _policy_pages(team: Crew) -> list[Shot]:
    rule = PolicyRule.objects.get(team_id=team.team.pk, position=1).pk
    return [
        Shot("policies", "policies", team.admin, "/policies/"),
        Shot("policies-read", "policies", team.approver, "/policies/"),
        Shot("policy-new", "policy_new", team.admin, "/policies/new/"),
        Shot("policy", "policy", team.admin, f"/policies/{rule}/"),
        Shot("policy-delete", "policy_delete", team.admin, f"/policies/{rule}/delete/"),
        Shot("policy-history", "policies_history", team.auditor, "/policies/history/"),
        Shot("policy-import", "policies_import", team.admin, "/policies/import/"),
        Shot("reasons", "reasons", team.admin, "/policies/reasons/"),
        Shot("remembered", "remembered", team.approver, "/policies/remembered/"),
    ]


def _audit_pages(team: Crew) -> list[Shot]:
    sealing.seal_due(timezone.now())
    passes.go_on(timezone.now)
    return [
        Shot("audit", "audit", team.auditor, "/audit/"),
        Shot("audit-nothing", "audit", team.admin, "/audit/?kind=user.renamed"),
        Shot("audit-seals", "audit_seals", team.auditor, "/audit/seals/"),
    ]


def _history_pages(team: Crew) -> list[Shot]:
    page = team.auditor.open("/history/?tool=search_orders", java_script_enabled=False)
    page.locator(".history-menu summary", has_text="Export").click()
    page.locator(".history-menu button").click()
    expect(page.get_by_text("the download has not begun")).to_be_visible()
    begun = urlsplit(page.url).path
    who, narrowed = team.auditor, "/history/?text=release&outcome=not_ended&longer=&sort=oldest"
    return [
        Shot("history", "history", who, "/history/"),
        Shot("history-narrowed", "history", who, narrowed),
        Shot("history-nothing", "", who, "/history/?text=nobodysaidthis"),
        Shot("history-approvals", "history_approvals", who, "/history/approvals/"),
        Shot("exports", "exports", who, "/exports/"),
        Shot("export", "export", who, begun),
        Shot("history-not-allowed", "", team.operator, "/history/"),
    ]


def _channel_pages(team: Crew) -> list[Shot]:
    who = Who(Member(team.admin.user, team.team, Role.ADMIN), timezone.now())
    hook = Wanted("Deployment log", ["asked", "alert"], url="https://hooks.example.com/in")
    channel = channels.add(ChannelKind.WEBHOOK, hook, who=who).pk
    return [
        Shot("channels", "channels", team.admin, "/team/channels/"),
        Shot("channel-new", "channel_new", team.admin, "/team/channels/new/teams/"),
        Shot("channel", "channel", team.admin, f"/team/channels/{channel}/"),
        Shot("channel-delete", "channel_delete", team.admin, f"/team/channels/{channel}/delete/"),
        Shot("my-notifications", "my_notifications", team.approver, "/profile/notifications/"),
    ]


def _away_pages(team: Crew) -> list[Shot]:
    now = timezone.now()
    absence = AbsenceFactory(
        team=team.team,
        user=team.approver.user,
        stand_in=team.operator.user,
        starts_at=now,
        ends_at=now + timedelta(days=9),
    )
    return [
        Shot("away", "away", team.admin, "/away/"),
        Shot("away-own", "away", team.approver, "/away/"),
        Shot("away-change", "away_change", team.approver, f"/away/{absence.pk}/"),
    ]


def _account_pages(team: Crew) -> list[Shot]:
    ours = {
        "password-change": "/accounts/password/change/",
        "two-factor": "/accounts/2fa/",
        "sign-out": "/accounts/logout/",
        "not-found": "/nothing-here/",
    }
    theirs = {"sign-in": "/accounts/login/", "password-reset": "/accounts/password/reset/"}
    return [
        *(Shot(name, "", team.auditor, where) for name, where in ours.items()),
        Shot("not-allowed", "operation_new", team.auditor, "/operations/new/"),
        *(Shot(name, "", None, where) for name, where in theirs.items()),
    ]


def _support_pages(team: Crew, server: int, operation: str) -> list[Shot]:
    """As support staff of no team, whom the team lets look."""
    assert team.admin.post("/team/support/let-in/", hours="8").status == 302
    sue = replace(team.admin, user=make_staff())
    sue.session_key = str(signed_in(sue.user).session.session_key)
    places = {
        "index": "",
        "operations": "tasks_monitor/operation/",
        "operation": f"tasks_monitor/operation/{operation}/change/",
        "server": f"tasks_monitor/server/{server}/change/",
        "nothing": "notify/channel/?kind__exact=slack",
    }
    return [
        Shot("support-access", "support_access", team.admin, "/team/support/"),
        *(Shot(f"support-{name}", "", sue, f"/support/{where}") for name, where in places.items()),
    ]


def settle(page: Page) -> None:
    """Until the page is live, where it can be, so that nothing moves in the picture."""
    word = page.locator("[data-live-word]")
    if word.count():
        expect(word).to_have_text("live")

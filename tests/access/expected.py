"""What happens at each address: the access matrix as data (domain.md, "Who may see and do what").

Every pattern of the URL table has one row here; tests/access/test_pages.py fails with a sentence
where one is missing. A row says, for GET and for POST, what each role of the team is answered.
What follows from the house's rules is not written down again: another method is a 405, who is not
signed in is sent to sign in, who is in no team (superusers too) gets a 403, and what belongs to
another team is a 404.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta

from django.db.models import Model

from mcpdesk.support.rows import site
from tests.access.actors import ADMIN, APPROVER, AUDITOR, EVERYBODY, OPERATOR

Statuses = Mapping[str, int]

OPERATORS = (OPERATOR, ADMIN)
READERS = (APPROVER, OPERATOR, AUDITOR, ADMIN)


def may(*roles: str, answer: int = 200, else_: int = 403) -> Statuses:
    """These roles get `answer`, the others `else_`."""
    return {role: answer if role in roles else else_ for role in EVERYBODY}


@dataclass(frozen=True, slots=True)
class Row:
    """One address. Names in braces, in `at` and `form`, are things of the team (world.py).

    `at`: the addresses to try, the first one for POST; a braced name makes a foreign one unknown.
    `any_team`: the item's own team counts, not the one that the session looks at.
    `parts`: the ids of elements that ask this address for themselves.
    `foreign`: what a form is told that names a thing of another team; nothing comes of it.
    `acts`: the roles whose POST changes something, where that is not all who get no refusal.
    `htmx`: what a POST by htmx is answered instead of a redirect.
    `queries`: the most that a GET may ask the database.
    `leaves`: tables in which even a GET leaves a line: reading the log is an event.
    """

    get: Statuses | None = None
    post: Statuses | None = None
    at: tuple[str, ...] = ()
    form: Mapping[str, str] = field(default_factory=dict)
    any_team: bool = False
    foreign: int = 404
    htmx: int = 302
    acts: tuple[str, ...] | None = None
    parts: tuple[str, ...] = ()
    queries: int = 30
    leaves: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Open:
    """An address that asks for no team: `nobody` and `somebody` (signed in) are answered so."""

    at: str
    nobody: int
    somebody: int


@dataclass(frozen=True, slots=True)
class Staff:
    """An address of support staff, who are in no team: test_support.py asks it as everybody.

    `model`: whose rows stand there; None: the site's own pages.
    """

    model: type[Model] | None = None


def of_support() -> dict[str, "Row | Open | Staff"]:
    """A row for each list and each page of a row, as the site itself has them registered."""
    rows: dict[str, Row | Open | Staff] = {
        "support/": Staff(),
        "support/<slug:app_label>/": Staff(),
    }
    for model in site._registry:
        place = f"support/{model._meta.app_label}/{model._meta.model_name}/"
        rows |= {place: Staff(model), f"{place}<path:object_id>/change/": Staff(model)}
    return rows


EVERYBODYS = may(*EVERYBODY)
SENT_BY_ALL = may(*EVERYBODY, answer=302)
ADMINS = may(ADMIN)
DONE_BY_ADMINS = may(ADMIN, answer=302)
DONE_BY_OPERATORS = may(*OPERATORS, answer=302)
DONE_BY_DECIDERS = may(APPROVER, OPERATOR, ADMIN, answer=302)
HISTORIANS = may(AUDITOR, ADMIN)
DONE_BY_HISTORIANS = may(AUDITOR, ADMIN, answer=302)
#: A colleague is away in a month, and another one stands in.
_IN_A_MONTH = date.today() + timedelta(days=30)
AWAY = {
    "person": "{person}",
    "stand_in": "{stand_in}",
    "first": _IN_A_MONTH.isoformat(),
    "last": (_IN_A_MONTH + timedelta(days=1)).isoformat(),
}

ROWS: dict[str, Row | Open | Staff] = {
    **of_support(),
    # --- the log
    "audit/": Row(
        get=may(AUDITOR, ADMIN),
        parts=("audit-state",),
        leaves=("audit_event",),
    ),
    "audit/state/": Row(get=may(AUDITOR, ADMIN), queries=10),
    "audit/seals/": Row(get=may(AUDITOR, ADMIN), parts=("audit-state",)),
    "audit/verify/": Row(post=may(AUDITOR, ADMIN, answer=302)),
    "audit/seals/seals.ndjson": Row(post=may(AUDITOR, ADMIN)),
    "audit/seals/events.ndjson": Row(post=may(AUDITOR, ADMIN)),
    # --- the shell
    "": Row(
        get=EVERYBODYS,
        at=("/", "/?range=90d"),
        parts=("dashboard-now", "dashboard-charts"),
    ),
    "health/": Open("/health/", 200, 200),
    "healthz": Open("/healthz", 200, 200),
    # nothing is at work beside the tests
    "readyz": Open("/readyz", 503, 503),
    # by a token of its own, and nobody's sign-in; tests/ops/test_metrics.py has who may ask
    "metrics": Open("/metrics", 401, 401),
    "health/desk/": Row(get=EVERYBODYS, parts=("desk-health",)),
    "shell/holds/": Row(get=EVERYBODYS, queries=8),
    "shell/inbox-badge/": Row(get=EVERYBODYS, queries=8),
    "profile/": Row(
        get=EVERYBODYS, post=SENT_BY_ALL, form={"name": "New name", "time_zone": "Europe/Warsaw"}
    ),
    # --- the history, and what is taken out of it
    "history/": Row(get=HISTORIANS, queries=15),
    "history/approvals/": Row(get=HISTORIANS, queries=15),
    "history/<slug:place>/save/": Row(
        post=DONE_BY_HISTORIANS, at=("/history/operations/save/?tool=x",), form={"name": "Tools"}
    ),
    "exports/": Row(get=HISTORIANS, queries=12),
    "exports/new/<slug:subject>/": Row(
        post=DONE_BY_HISTORIANS, at=("/exports/new/operations/",), form={"format": "csv"}
    ),
    "exports/<uuid:pk>/": Row(
        get=HISTORIANS, at=("/exports/{export}/",), parts=("export-progress",)
    ),
    "exports/<uuid:pk>/file/": Row(
        post=may(AUDITOR, else_=403) | {ADMIN: 404}, at=("/exports/{export}/file/",)
    ),
    # --- the team
    "team/": Row(get=EVERYBODYS),
    "team/switch/": Row(post=SENT_BY_ALL, form={"team": "{team}"}, foreign=302, acts=()),
    "team/people/<int:pk>/": Row(get=ADMINS, at=("/team/people/{person}/",)),
    "team/people/<int:pk>/sign-out/": Row(
        post=DONE_BY_ADMINS, at=("/team/people/{person}/sign-out/",)
    ),
    "profile/sign-out/": Row(post=SENT_BY_ALL),
    "team/who-could/": Row(
        get=HISTORIANS,
        post=HISTORIANS,
        form={
            "day": "2026-01-01",
            "time": "12:00",
            "server": "{server name}",
            "tool": "any",
            "starter": "",
            "arguments": "{{}}",
        },
        acts=(),
        foreign=422,
    ),
    "team/add/": Row(post=ADMINS, form={"email": "new@example.test", "role": "viewer"}),
    "team/<int:pk>/role/": Row(
        post=DONE_BY_ADMINS, at=("/team/{member}/role/",), form={"role": "viewer"}
    ),
    "team/<int:pk>/remove/": Row(post=DONE_BY_ADMINS, at=("/team/{member}/remove/",)),
    "team/<int:pk>/password/": Row(post=ADMINS, at=("/team/{member}/password/",)),
    "team/<int:pk>/reactivate/": Row(post=DONE_BY_ADMINS, at=("/team/{member}/reactivate/",)),
    "team/<int:pk>/deactivate/": Row(post=DONE_BY_ADMINS, at=("/team/{member}/deactivate/",)),
    # --- where the team is told, and what each person is told
    "team/channels/": Row(get=ADMINS, parts=("channels-live",)),
    "team/channels/arguments/": Row(post=DONE_BY_ADMINS, form={"to": "on"}),
    "team/channels/new/<slug:kind>/": Row(
        get=ADMINS,
        post=DONE_BY_ADMINS,
        at=("/team/channels/new/slack/",),
        form={"name": "new", "url": "https://hooks.example/new", "topics": "asked"},
    ),
    "team/channels/<int:pk>/": Row(
        get=ADMINS,
        post=DONE_BY_ADMINS,
        at=("/team/channels/{channel}/",),
        form={"name": "renamed"},
        parts=("channel-live",),
    ),
    "team/channels/<int:pk>/switch/": Row(
        post=DONE_BY_ADMINS, at=("/team/channels/{channel}/switch/",), form={"to": "off"}
    ),
    "team/channels/<int:pk>/rotate/": Row(post=ADMINS, at=("/team/channels/{channel}/rotate/",)),
    "team/channels/<int:pk>/test/": Row(
        post=DONE_BY_ADMINS, at=("/team/channels/{channel}/test/",)
    ),
    "team/channels/<int:pk>/delete/": Row(
        get=ADMINS, post=DONE_BY_ADMINS, at=("/team/channels/{channel}/delete/",)
    ),
    "team/messages/<uuid:message_id>/again/": Row(
        post=DONE_BY_ADMINS, at=("/team/messages/{given up message}/again/",)
    ),
    "alerts/": Row(get=may(*OPERATORS), parts=("alerts-live",)),
    "alerts/<int:pk>/seen/": Row(post=DONE_BY_OPERATORS, at=("/alerts/{alert}/seen/",)),
    "shell/alerts-badge/": Row(get=may(*OPERATORS), queries=9),
    # --- how long things are kept
    # nobody is erased who is still active
    "team/<int:pk>/erase/": Row(
        get=DONE_BY_ADMINS,
        post=DONE_BY_ADMINS,
        at=("/team/{member}/erase/",),
        form={"name": "x"},
        acts=(),
    ),
    "team/retention/": Row(get=ADMINS, post=DONE_BY_ADMINS, form={"payload_days": "30"}),
    "team/retention/holds/": Row(post=DONE_BY_ADMINS, form={"reason": "a court asks"}),
    "team/retention/holds/<int:pk>/end/": Row(
        post=DONE_BY_ADMINS,
        at=("/team/retention/holds/{legal hold}/end/",),
        form={"reason": "settled"},
    ),
    "team/support/": Row(get=EVERYBODYS),
    "team/support/let-in/": Row(post=DONE_BY_ADMINS, form={"hours": "8"}),
    # support may look meanwhile: world.py
    "team/support/end/": Row(post=DONE_BY_ADMINS),
    "team/tokens/": Row(
        get=ADMINS, post=ADMINS, form={"name": "new-bot", "scopes": "start", "days": "30"}
    ),
    "team/tokens/<int:pk>/revoke/": Row(post=DONE_BY_ADMINS, at=("/team/tokens/{token}/revoke/",)),
    "profile/sessions/end-others/": Row(post=SENT_BY_ALL),
    # a colleague's is nobody's to end; tests/web/test_sessions.py ends one's own
    "profile/sessions/<int:pk>/end/": Row(
        post=may(else_=404), at=("/profile/sessions/{session}/end/",), acts=()
    ),
    "profile/tokens/": Row(
        get=EVERYBODYS,
        post=EVERYBODYS,
        form={"name": "new laptop", "scopes": "read", "days": "30"},
    ),
    # a token is its person's alone
    "profile/tokens/<int:pk>/revoke/": Row(
        post=may(else_=404), at=("/profile/tokens/{token}/revoke/",)
    ),
    "api/": Row(get=EVERYBODYS),
    "profile/notifications/": Row(
        get=EVERYBODYS, post=SENT_BY_ALL, form={"timing": "at_once", "daily_at": "08:00"}
    ),
    "profile/notifications/browsers/": Row(
        post=SENT_BY_ALL,
        form={
            "endpoint": "https://push.example/new",
            "p256dh": "B" + "A" * 86,
            "auth": "A" * 22,
            "browser": "new",
        },
    ),
    # a browser is its person's alone
    "profile/notifications/browsers/<int:pk>/remove/": Row(
        post=may(else_=404), at=("/profile/notifications/browsers/{browser}/remove/",)
    ),
    "push-worker.js": Open("/push-worker.js", 200, 200),
    # --- who is away
    "away/": Row(get=EVERYBODYS),
    "away/add/": Row(post=DONE_BY_DECIDERS, form=AWAY, foreign=422),
    "away/<int:pk>/": Row(get=may(ADMIN), post=DONE_BY_ADMINS, at=("/away/{absence}/",), form=AWAY),
    "away/<int:pk>/end/": Row(post=DONE_BY_ADMINS, at=("/away/{absence}/end/",)),
    # --- operations
    "operations/": Row(get=EVERYBODYS, at=("/operations/?tab=all",), parts=("operations",)),
    "operations/new/": Row(
        get=may(*OPERATORS),
        post=DONE_BY_OPERATORS,
        at=(
            "/operations/new/?server={server}&tool={tool}",
            "/operations/new/?server={server}",
            "/operations/new/?server={server}&tool={tool}&as=json",
        ),
        form={
            "arguments": "{{}}",
            "key": "9a1f7f2e-5f0b-4b0e-9a43-3d6f2d0f0d11",
            "questions_to": "approvers",
        },
        parts=("tools",),
    ),
    "operations/adopt/": Row(
        get=may(*OPERATORS),
        post=DONE_BY_OPERATORS,
        form={
            "server": "{server}",
            "tool_name": "x",
            "task_id": "t",
            "questions_to": "approvers",
        },
        foreign=422,
    ),
    "operations/<uuid:pk>/": Row(
        get=EVERYBODYS,
        at=(
            "/operations/{answered operation}/",
            "/operations/{question operation}/",
            "/operations/{others' question operation}/",
            "/operations/{viewer's operation}/",
            "/operations/{unknown operation}/",
            "/operations/{broken operation}/",
            "/operations/{gate operation}/",
            "/operations/{claimed operation}/",
            "/operations/{link operation}/",
        ),
        parts=(
            "operation-state",
            "operation-actions",
            "operation-facts",
            "operation-timeline",
            "timeline-older",
        ),
    ),
    "operations/<uuid:pk>/cancel/": Row(
        post=DONE_BY_OPERATORS, at=("/operations/{question operation}/cancel/",)
    ),
    "operations/<uuid:pk>/check/": Row(
        post=DONE_BY_OPERATORS, at=("/operations/{question operation}/check/",)
    ),
    "operations/<uuid:pk>/reconcile/": Row(
        get=may(*OPERATORS),
        post=DONE_BY_OPERATORS,
        at=(
            "/operations/{unknown operation}/reconcile/",
            "/operations/{broken operation}/reconcile/",
        ),
        form={"choice": "record_done", "reason": "looked", "evidence": "seen"},
    ),
    # one's own proposal is nobody's to agree to or refuse but somebody else's
    "operations/<uuid:pk>/reconcile/<int:repair_id>/agree/": Row(
        post=DONE_BY_OPERATORS,
        at=("/operations/{broken operation}/reconcile/{repair}/agree/",),
        acts=(ADMIN,),
    ),
    "operations/<uuid:pk>/reconcile/<int:repair_id>/refuse/": Row(
        post=DONE_BY_OPERATORS,
        at=("/operations/{broken operation}/reconcile/{repair}/refuse/",),
        form={"reason": "it is there"},
        acts=(ADMIN,),
    ),
    "operations/<uuid:pk>/reconcile/<int:repair_id>/take-back/": Row(
        post=DONE_BY_OPERATORS,
        at=("/operations/{broken operation}/reconcile/{repair}/take-back/",),
        acts=(OPERATOR,),
    ),
    "operations/<uuid:pk>/result.json": Row(
        get=may(*READERS, else_=404),
        at=("/operations/{answered operation}/result.json",),
    ),
    "operations/<uuid:pk>/result/<slug:name>/": Row(
        get=may(*READERS, else_=404),
        at=("/operations/{answered operation}/result/0/",),
    ),
    # --- servers
    "servers/": Row(get=EVERYBODYS, parts=("servers",)),
    "servers/new/": Row(
        get=ADMINS,
        post=DONE_BY_ADMINS,
        form={
            "name": "new",
            "url": "http://127.0.0.1:9/mcp",
            "questions_to": "approvers",
            "allow_private": "on",
            "auth_kind": "none",
        },
    ),
    "servers/<int:pk>/": Row(get=EVERYBODYS, at=("/servers/{server}/",), parts=("server",)),
    "servers/<int:pk>/edit/": Row(
        get=ADMINS,
        post=DONE_BY_ADMINS,
        at=("/servers/{server}/edit/",),
        form={
            "name": "renamed",
            "questions_to": "approvers",
            "auth_kind": "none",
            "max_in_flight": "1",
            "call_timeout_s": "5",
        },
    ),
    "servers/<int:pk>/pause/": Row(
        post=DONE_BY_ADMINS, at=("/servers/{server}/pause/",), form={"paused": "yes"}
    ),
    "servers/<int:pk>/test/": Row(post=DONE_BY_ADMINS, at=("/servers/{server}/test/",)),
    "servers/<int:pk>/durations/": Row(
        get=EVERYBODYS,
        post=DONE_BY_ADMINS,
        at=("/servers/{server}/durations/",),
        form={"tool": "{tool}", "limit": "90"},
    ),
    # --- the kill switch
    "holds/new/": Row(
        get=may(*OPERATORS),
        post=DONE_BY_OPERATORS,
        at=("/holds/new/?server={server}", "/holds/new/"),
        form={"reason": "odd"},
    ),
    "holds/<int:pk>/end/": Row(get=ADMINS, post=DONE_BY_ADMINS, at=("/holds/{hold}/end/",)),
    # --- the inbox
    "inbox/": Row(
        get=EVERYBODYS,
        at=("/inbox/", "/inbox/?tab=team", "/inbox/?tab=decided"),
        parts=("inbox-list", "inbox-detail"),
        queries=36,
    ),
    "inbox/several/": Row(
        get=may(APPROVER, OPERATOR, ADMIN),
        post=may(APPROVER, OPERATOR, ADMIN),
        at=("/inbox/several/?item={gate}&item={question}&item={others' question}",),
        form={"item": "{gate}", "binding-{gate}": "{token of gate}", "choice": "approve"},
        foreign=200,
        acts=(APPROVER, ADMIN),
        parts=("inbox-detail",),
        queries=24,
    ),
    "inbox/filters/": Row(get=EVERYBODYS),
    "inbox/filters/save/": Row(
        post=SENT_BY_ALL, at=("/inbox/filters/save/?tab=team",), form={"name": "New"}
    ),
    "inbox/filters/<int:pk>/rename/": Row(
        post=DONE_BY_ADMINS, at=("/inbox/filters/{list}/rename/",), form={"name": "Another"}
    ),
    "inbox/filters/<int:pk>/delete/": Row(
        post=DONE_BY_ADMINS, at=("/inbox/filters/{list}/delete/",)
    ),
    "inbox/<uuid:approval_id>/": Row(
        get=EVERYBODYS,
        at=(
            "/inbox/{question}/",
            "/inbox/{others' question}/",
            "/inbox/{answered}/",
            "/inbox/{viewer's}/",
            "/inbox/{gate}/",
            "/inbox/{claimed}/",
            "/inbox/{link}/",
        ),
        any_team=True,
        parts=("inbox-detail",),
        queries=40,
    ),
    "inbox/<uuid:approval_id>/live/": Row(
        get=EVERYBODYS,
        at=("/inbox/{question}/live/", "/inbox/{answered}/live/", "/inbox/{gate}/live/"),
        any_team=True,
        queries=20,
    ),
    "inbox/<uuid:approval_id>/decide/": Row(
        # 422: who knows of it is told why not
        post=may(APPROVER, ADMIN, answer=302, else_=422),
        at=("/inbox/{question}/decide/",),
        form={"binding": "{token of question}", "choice": "decline"},
        any_team=True,
    ),
    "inbox/<uuid:approval_id>/snooze/": Row(
        post=SENT_BY_ALL,
        at=("/inbox/{question}/snooze/",),
        any_team=True,
        acts=(APPROVER, ADMIN),
    ),
    "inbox/<uuid:approval_id>/draft/": Row(
        post=SENT_BY_ALL,
        at=("/inbox/{question}/draft/",),
        form={"field-0": "x"},
        any_team=True,
        htmx=200,
        acts=(APPROVER, ADMIN),
    ),
    "inbox/<uuid:approval_id>/cancel/": Row(
        post=DONE_BY_OPERATORS, at=("/inbox/{question}/cancel/",), any_team=True
    ),
    "inbox/<uuid:approval_id>/beside/": Row(
        get=EVERYBODYS, at=("/inbox/{question}/beside/", "/inbox/{answered}/beside/"), any_team=True
    ),
    "inbox/<uuid:approval_id>/work/": Row(
        get=EVERYBODYS, at=("/inbox/{claimed}/work/", "/inbox/{gate}/work/"), any_team=True
    ),
    # whom it was not put to is told so
    "inbox/<uuid:approval_id>/claim/": Row(
        post=SENT_BY_ALL,
        at=("/inbox/{question}/claim/",),
        any_team=True,
        acts=(APPROVER, ADMIN),
    ),
    "inbox/<uuid:approval_id>/take-over/": Row(
        post=SENT_BY_ALL,
        at=("/inbox/{claimed}/take-over/",),
        form={"note": "they are on a train"},
        any_team=True,
        acts=(APPROVER, ADMIN),
    ),
    "inbox/<uuid:approval_id>/hand/": Row(
        post=SENT_BY_ALL,
        at=("/inbox/{question}/hand/",),
        form={"to": "{person}", "note": "yours"},
        any_team=True,
        acts=(APPROVER, ADMIN),
    ),
    # whoever may read it may speak of it
    "inbox/<uuid:approval_id>/comment/": Row(
        post=SENT_BY_ALL,
        at=("/inbox/{question}/comment/",),
        form={"text": "why now?"},
        any_team=True,
        acts=READERS,
    ),
    # the approver had agreed to open it
    "inbox/<uuid:approval_id>/finished/": Row(
        post=SENT_BY_ALL, at=("/inbox/{link}/finished/",), any_team=True, acts=(APPROVER,)
    ),
    "inbox/<uuid:approval_id>/failed/": Row(
        post=SENT_BY_ALL,
        at=("/inbox/{link}/failed/",),
        form={"words": "a blank page"},
        any_team=True,
        acts=(APPROVER,),
    ),
    # --- policies
    "policies/reasons/": Row(
        get=EVERYBODYS, post=DONE_BY_ADMINS, form={"approve": "agreed", "deny": "too early"}
    ),
    "policies/": Row(get=EVERYBODYS),
    "policies/try/": Row(
        post=EVERYBODYS,
        form={"server": "{server name}", "tool": "x", "starter": "", "arguments": "{{}}"},
        acts=(),
        foreign=422,
    ),
    "policies/new/": Row(
        get=ADMINS,
        post=DONE_BY_ADMINS,
        form={
            "name": "new",
            "server": "*",
            "tool": "*",
            "starter": "anyone",
            "effect": "disabled",
            "audience": "approvers",
            "quorum": "1",
            "at_deadline": "expire",
            "version": "0",
        },
    ),
    "policies/<int:pk>/": Row(
        get=ADMINS,
        post=DONE_BY_ADMINS,
        at=("/policies/{rule}/",),
        form={
            "name": "renamed",
            "server": "*",
            "tool": "*",
            "starter": "anyone",
            "effect": "disabled",
            "audience": "approvers",
            "quorum": "1",
            "at_deadline": "expire",
            "version": "1",
        },
    ),
    "policies/<int:pk>/move/": Row(
        post=DONE_BY_ADMINS,
        at=("/policies/{rule}/move/",),
        form={"to": "up", "edition": "{edition}"},
        htmx=200,
    ),
    "policies/<int:pk>/switch/": Row(
        post=DONE_BY_ADMINS,
        at=("/policies/{rule}/switch/",),
        form={"to": "off", "version": "1"},
    ),
    "policies/<int:pk>/delete/": Row(
        get=ADMINS,
        post=DONE_BY_ADMINS,
        at=("/policies/{rule}/delete/",),
        form={"version": "1"},
    ),
    "policies/history/": Row(get=may(AUDITOR, ADMIN)),
    "policies/export/": Row(get=EVERYBODYS),
    # what it would change is shown first: that changes nothing
    "policies/import/": Row(
        get=ADMINS, post=ADMINS, form={"text": "mcpdesk_policy: 1\nrules: []"}, acts=(), htmx=200
    ),
    "policies/remembered/": Row(get=EVERYBODYS),
    # a colleague made it
    "policies/remembered/<int:pk>/revoke/": Row(
        post=SENT_BY_ALL, at=("/policies/remembered/{remembered}/revoke/",), acts=(ADMIN,)
    ),
    # the approver has just approved it
    "policies/remembered/<uuid:approval_id>/leave/": Row(
        post=SENT_BY_ALL,
        at=("/policies/remembered/{approved gate}/leave/",),
        form={"remember_arguments": "same", "remember_for": "starter", "remember_long": "1"},
        acts=(APPROVER,),
    ),
    # --- one's own account (django-allauth): no team's data is there
    "accounts/login/": Open("/accounts/login/", 200, 302),
    "accounts/logout/": Open("/accounts/logout/", 302, 200),
    "accounts/inactive/": Open("/accounts/inactive/", 200, 200),
    "accounts/signup/": Open("/accounts/signup/", 200, 302),
    "accounts/reauthenticate/": Open("/accounts/reauthenticate/", 302, 200),
    "accounts/reauthenticate/code/": Open("/accounts/reauthenticate/code/", 302, 302),
    "accounts/reauthenticate/code/confirm/": Open(
        "/accounts/reauthenticate/code/confirm/", 302, 302
    ),
    "accounts/email/": Open("/accounts/email/", 302, 200),
    "accounts/confirm-email/": Open("/accounts/confirm-email/", 200, 200),
    "accounts/^confirm-email/(?P<key>[-:\\w]+)/$": Open("/accounts/confirm-email/x/", 200, 200),
    "accounts/password/change/": Open("/accounts/password/change/", 302, 200),
    "accounts/password/set/": Open("/accounts/password/set/", 302, 302),
    "accounts/password/reset/": Open("/accounts/password/reset/", 200, 200),
    "accounts/password/reset/done/": Open("/accounts/password/reset/done/", 200, 200),
    "accounts/password/reset/key/done/": Open("/accounts/password/reset/key/done/", 200, 200),
    "accounts/^password/reset/key/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)/$": Open(
        "/accounts/password/reset/key/1-x/", 200, 200
    ),
    "accounts/login/code/confirm/": Open("/accounts/login/code/confirm/", 302, 302),
    "accounts/sessions/": Open("/accounts/sessions/", 302, 302),
    "accounts/2fa/": Open("/accounts/2fa/", 302, 200),
    "accounts/2fa/authenticate/": Open("/accounts/2fa/authenticate/", 302, 302),
    "accounts/2fa/reauthenticate/": Open("/accounts/2fa/reauthenticate/", 302, 302),
    "accounts/2fa/totp/activate/": Open("/accounts/2fa/totp/activate/", 302, 302),
    "accounts/2fa/totp/deactivate/": Open("/accounts/2fa/totp/deactivate/", 302, 404),
    "accounts/2fa/recovery-codes/": Open("/accounts/2fa/recovery-codes/", 302, 404),
    "accounts/2fa/recovery-codes/generate/": Open(
        "/accounts/2fa/recovery-codes/generate/", 302, 302
    ),
    "accounts/2fa/recovery-codes/download/": Open(
        "/accounts/2fa/recovery-codes/download/", 302, 404
    ),
    "accounts/3rdparty/": Open("/accounts/3rdparty/", 302, 200),
    "accounts/3rdparty/login/cancelled/": Open("/accounts/3rdparty/login/cancelled/", 200, 200),
    "accounts/3rdparty/login/error/": Open("/accounts/3rdparty/login/error/", 401, 401),
    "accounts/3rdparty/signup/": Open("/accounts/3rdparty/signup/", 302, 302),
    "accounts/social/login/cancelled/": Open("/accounts/social/login/cancelled/", 301, 301),
    "accounts/social/login/error/": Open("/accounts/social/login/error/", 301, 301),
    "accounts/social/signup/": Open("/accounts/social/signup/", 301, 301),
    "accounts/social/connections/": Open("/accounts/social/connections/", 301, 301),
}

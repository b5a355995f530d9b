"""What a team has beside its operations: server, rules, lists, days away, holds, channels."""

from datetime import timedelta

from allauth.usersessions.models import UserSession
from django.utils import timezone

from approvals.models import (
    PolicyRule,
    PolicyVersion,
    SavedFilter,
)
from approvals.policies import edition
from mcpdesk.accounts.models import ApiToken, Role, SupportGrant
from mcpdesk.audit.models import Export, LegalHold
from mcpdesk.notify.models import (
    Alert,
    Channel,
    ChannelKind,
    Medium,
    Message,
    MessageState,
    PushKey,
    PushSubscription,
    Topic,
)
from tasks_monitor.models import (
    Hold,
    Server,
    Tool,
)
from tests.access.actors import (
    ADMIN,
    AUDITOR,
    OPERATOR,
)
from tests.access.household import NOT_EVEN_ADMINS, PUT_TO_OTHERS, Household
from tests.access.planted import UNSEEN
from tests.factories import (
    AbsenceFactory,
    MembershipFactory,
    PolicyRuleFactory,
    ServerFactory,
)


def away(household: Household) -> None:
    """The colleague will be away, and another one stands in."""
    colleague = household.people["colleague"]
    stand_in = MembershipFactory(team=household.team, role=Role.APPROVER).user
    begins = timezone.now() + timedelta(days=3)
    absence = AbsenceFactory(
        team=household.team,
        user=colleague,
        stand_in=stand_in,
        starts_at=begins,
        ends_at=begins + timedelta(days=3),
    )
    household.ids |= {"absence": absence.pk, "stand_in": stand_in.pk}


def tokens(household: Household) -> None:
    """A service's token, and one of a colleague."""
    now, colleague = timezone.now(), household.people["colleague"]
    for thing, user in (("token", None), ("colleague's token", colleague)):
        token = ApiToken.objects.create(
            team=household.team,
            user=user,
            name=household.mark("tokens", thing, (ADMIN,)),
            scopes=["read"],
            prefix="mdk_shown0",
            digest=f"{household.team.pk} {thing}",
            created_at=now,
            created_by=colleague,
        )
        household.ids[thing] = token.pk


def session(household: Household) -> None:
    """A colleague is signed in somewhere."""
    row = UserSession.objects.create(
        user=household.people["colleague"],
        session_key=f"session-{household.team.pk}",
        ip="203.0.113.9",
        user_agent=household.mark("session", "browser", NOT_EVEN_ADMINS),
    )
    household.ids["session"] = row.pk


def support(household: Household) -> None:
    """Support may look for an hour."""
    now = timezone.now()
    SupportGrant.objects.create(
        team=household.team,
        granted_by=household.people[ADMIN],
        granted_at=now,
        ends_at=now + timedelta(hours=1),
    )


def notices(household: Household) -> None:
    """Where the team and a colleague are told, and a message that waits for the colleague."""

    def never(label: str) -> str:
        return household.mark("notices", label, NOT_EVEN_ADMINS)

    def told(label: str) -> str:
        return household.mark("notices", label, PUT_TO_OTHERS)

    colleague, now = household.people["colleague"], timezone.now()
    channel = Channel.objects.create(
        team=household.team,
        kind=ChannelKind.WEBHOOK,
        name=household.mark("team", "channel", PUT_TO_OTHERS),
        target={"url": f"https://hooks.example/{never('address of a channel')}"},
        shown_as="https://hooks.example",
        secret={"current": f"whsec_{never('secret of a channel')}"},
        created_at=now,
    )
    browser = PushSubscription.objects.create(
        user=colleague,
        endpoint_hash=never("hash of a browser"),
        target={"endpoint": f"https://push.example/{never('address of a browser')}"},
        browser=never("name of a browser"),
        created_at=now,
    )
    PushKey.objects.update_or_create(
        defaults={"private_key": never("key for push"), "public_key": "public"}
    )
    message = Message.objects.create(
        team=household.team,
        medium=Medium.EMAIL,
        user=colleague,
        target=f"u{colleague.pk}",
        topic=Topic.ASKED,
        event="approval.opened",
        matter=f"approval:{household.ids['question']}",
        approval_id=household.ids["question"],
        once=never("once"),
        # on the item's page they see that the colleague was told of it, not what
        content={
            "subject": told("subject"),
            "sentence": never("sentence of a message"),
            "facts": [["Why", never("facts of a message")]],
            "arguments": never("arguments in a message"),
        },
        created_at=now,
        next_at=now,
    )
    given_up = Message.objects.create(
        team=household.team,
        medium=Medium.WEBHOOK,
        channel=channel,
        target=f"c{channel.pk}",
        topic=Topic.ASKED,
        event="approval.opened",
        matter=f"approval:{household.ids['question']}",
        once=never("another once"),
        content={"subject": told("subject of a given up message")},
        state=MessageState.DEAD,
        created_at=now,
        finished_at=now,
    )
    alert = Alert.objects.create(
        team=household.team,
        matter="clock",
        sentence=household.mark("notices", "alert", {OPERATOR, ADMIN}),
        path="/inbox/",
        opened_at=now,
    )
    household.ids |= {
        "channel": channel.pk,
        "browser": browser.pk,
        "message": message.pk,
        "given up message": given_up.pk,
        "alert": alert.pk,
    }


def held(household: Household) -> None:
    """Another server, to which nothing is sent."""
    server = ServerFactory(team=household.team, name=household.name("held server"))
    hold = Hold.objects.create(
        team=household.team,
        server=server,
        reason=household.name("reason of a hold"),
        since=timezone.now(),
        begun_by=household.people["colleague"],
    )
    household.ids["hold"] = hold.pk


def kept_for_a_court(household: Household) -> None:
    """An operation under a legal hold; why is for those who read the whole history."""
    hold = LegalHold.objects.create(
        team=household.team,
        operation_id=household.ids["unknown operation"],
        reason=household.mark("legal hold", "reason", (ADMIN, AUDITOR)),
        since=timezone.now(),
        begun_by=household.people["colleague"],
    )
    household.ids["legal hold"] = hold.pk


def lists(household: Household) -> None:
    """A list that the team has saved, and one that a colleague keeps for themselves."""
    mine = household.mark("list", "name", NOT_EVEN_ADMINS)
    kept = SavedFilter.objects.create(
        team=household.team, user=household.people["colleague"], name=mine, query=f"tool={mine}"
    )
    ours = SavedFilter.objects.create(
        team=household.team, name=household.name("list"), query=f"tool={household.name('filter')}"
    )
    household.ids |= {"list": ours.pk, "own list": kept.pk}


def exported(household: Household) -> None:
    """What the auditor has begun to take out."""
    now = timezone.now()
    export = Export.objects.create(
        team=household.team,
        user=household.people[AUDITOR],
        subject="operations",
        format="csv",
        query="",
        created_at=now,
        updated_at=now,
    )
    household.ids["export"] = export.pk


def add_server(household: Household) -> Server:
    secret = household.mark("server", "credential", NOT_EVEN_ADMINS)
    server: Server = ServerFactory(
        team=household.team,
        name=household.name("server"),
        # nobody listens there, and nobody is waited for
        url="http://127.0.0.1:9/mcp",
        allow_private=True,
        identity=household.name("identity"),
        auth_kind="bearer",
        credential={"headers": [["Authorization", f"Bearer {secret}"]]},
        discovery={"instructions": household.name("instructions")},
    )
    tool = f"{household.name('tool')}{UNSEEN}"
    definition = {
        "name": tool,
        "description": household.name("tool description"),
        "inputSchema": {"type": "object", "properties": {"project": {"type": "string"}}},
    }
    Tool.objects.create(server=server, name=tool, definition=definition)
    household.ids |= {"server": server.pk, "server name": server.name, "tool": tool}
    return server


def rules(household: Household) -> None:
    for number in (1, 2):
        rule: PolicyRule = PolicyRuleFactory(
            team=household.team,
            name=household.name("rule"),
            match={
                "tool": f"never-{number}",
                "arguments": [
                    {"path": "project", "op": "equals", "value": household.name("condition")}
                ],
            },
        )
        household.ids["rule"] = rule.pk
    household.ids["edition"] = edition(household.team.pk)
    before = household.mark("rule", "condition of before", NOT_EVEN_ADMINS)
    condition = {"path": "project", "op": "equals", "value": before}
    PolicyVersion.objects.create(
        team=household.team,
        rules=[{"name": "before", "effect": "disabled", "arguments": [condition]}],
    )

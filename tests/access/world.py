"""Two teams with everything a team can have, a mark in every private field, and all the actors."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import product
from typing import Any

from django.utils import timezone

from approvals import binding
from approvals.models import (
    Approval,
    ApprovalState,
    Audience,
    Choice,
    Comment,
    Draft,
    Look,
    PolicyRule,
    Remembered,
    SavedFilter,
    Shape,
    Verdict,
    Vote,
)
from approvals.policies import edition
from mcpdesk.accounts.models import Membership, Role, Team, User
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
    DeliveryState,
    Hold,
    InputRequestState,
    Operation,
    Payload,
    Server,
    Tool,
)
from tasks_monitor.states import TERMINAL, State
from tests.access import actors
from tests.access.actors import (
    ADMIN,
    APPROVER,
    AUDITOR,
    EVERYBODY,
    OPERATOR,
    VIEWER,
    VISITOR,
    Actor,
)
from tests.access.planted import Garden
from tests.factories import (
    AbsenceFactory,
    ApprovalFactory,
    AttemptFactory,
    DeliveryFactory,
    InputRequestFactory,
    MembershipFactory,
    OperationFactory,
    PolicyRuleFactory,
    ServerFactory,
    TeamFactory,
    form_params,
    url_params,
)

#: Who may read what an operation carried, by whom its question was put to (domain.md).
PUT_TO_APPROVERS = (APPROVER, OPERATOR, AUDITOR, ADMIN)
PUT_TO_OTHERS = (OPERATOR, AUDITOR, ADMIN)
NOT_EVEN_ADMINS = ()


@dataclass(slots=True)
class Household:
    """One team and what it has. `ids` names its things for addresses and forms."""

    team: Team
    garden: Garden
    #: who stands for a reader of the team: elsewhere nobody but its admins is looked at
    insiders: Collection[str]
    people: dict[str, User] = field(default_factory=dict)
    ids: dict[str, Any] = field(default_factory=dict)

    def mark(self, thing: str, label: str, readers: Collection[str]) -> str:
        """A mark for these roles; every insider of another team has all rights there."""
        here = set(EVERYBODY) <= set(self.insiders)
        eyes = set(readers) if here else set(self.insiders if readers else ())
        if here and set(readers) == set(EVERYBODY):
            eyes.add(VISITOR)
        return self.garden.plant(thing, label, eyes)

    def name(self, label: str) -> str:
        """A mark for what everybody in the team may know."""
        return self.mark("team", label, EVERYBODY)


@dataclass(slots=True)
class World:
    """`here` is the team of the matrix; `elsewhere` the one of the foreigners."""

    here: Household
    elsewhere: Household
    cast: dict[str, Actor]
    garden: Garden

    @classmethod
    def make(cls) -> "World":
        garden = Garden()
        teams = [TeamFactory(name="Here"), TeamFactory(name="Elsewhere")]
        cast = actors.cast(*teams)
        here = Household(teams[0], garden, EVERYBODY)
        here.people = {role: _user(cast[role]) for role in EVERYBODY}
        elsewhere = Household(teams[1], garden, (actors.FOREIGNER, VISITOR))
        elsewhere.people = dict.fromkeys(EVERYBODY, _user(cast[actors.FOREIGNER]))
        for household in (here, elsewhere):
            furnish(household)
        _everything_was_opened(cast.values())
        return cls(here, elsewhere, cast, garden)

    def token(self, actor: Actor, thing: str) -> str:
        """What the desk would have put into the form of this item for this person."""
        approval = Approval.objects.get(pk=self.here.ids[thing])
        user_id = actor.user.pk if actor.user else 0
        return binding.bind(approval, user_id=user_id, now=timezone.now())


def _everything_was_opened(cast: Iterable[Actor]) -> None:
    """Who opens an item for the first time is noted; from then on a GET has nothing to write."""
    pairs = product(Approval.objects.all(), [actor.user for actor in cast if actor.user])
    now = timezone.now()
    Look.objects.bulk_create(Look(approval=item, user=user, at=now) for item, user in pairs)


def _user(actor: Actor) -> User:
    assert actor.user is not None
    return actor.user


def furnish(household: Household) -> None:
    """Everything there is in a team, once."""
    colleague = MembershipFactory(
        team=household.team, role=Role.APPROVER, user__name=household.name("person")
    )
    household.people["colleague"] = colleague.user
    household.ids |= {"team": household.team.pk, "member": colleague.pk}
    household.ids["person"] = colleague.user_id
    _away(household)
    server = _server(household)
    _rules(household)
    _asked(household, server)
    _claimed(household, server)
    _link(household, server)
    _asked_of_others(household, server)
    _completed(household, server)
    _of_the_viewer(household, server)
    _unknown(household, server)
    _gate(household, server)
    _remembered(household, server)
    _lists(household)
    _notices(household)
    _held(household)


def _away(household: Household) -> None:
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


def _notices(household: Household) -> None:
    """Where the team and a colleague are told, and a message that waits for the colleague."""

    def never(label: str) -> str:
        return household.mark("notices", label, NOT_EVEN_ADMINS)

    colleague, now = household.people["colleague"], timezone.now()
    channel = Channel.objects.create(
        team=household.team,
        kind=ChannelKind.WEBHOOK,
        name=household.name("channel"),
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
        # on the item's page the whole team sees that the colleague was told, not what
        content={
            "subject": household.name("subject"),
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
        content={"subject": household.name("subject of a given up message")},
        state=MessageState.DEAD,
        created_at=now,
        finished_at=now,
    )
    alert = Alert.objects.create(
        team=household.team,
        matter="clock",
        sentence=household.mark("notices", "alert", {ADMIN}),
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


def _held(household: Household) -> None:
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


def _lists(household: Household) -> None:
    """A list that the team has saved, and one that a colleague keeps for themselves."""
    mine = household.mark("list", "name", NOT_EVEN_ADMINS)
    kept = SavedFilter.objects.create(
        team=household.team, user=household.people["colleague"], name=mine, query=f"tool={mine}"
    )
    ours = SavedFilter.objects.create(
        team=household.team, name=household.name("list"), query=f"tool={household.name('filter')}"
    )
    household.ids |= {"list": ours.pk, "own list": kept.pk}


def _server(household: Household) -> Server:
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
    tool = household.name("tool")
    definition = {
        "name": tool,
        "description": household.name("tool description"),
        "inputSchema": {"type": "object", "properties": {"project": {"type": "string"}}},
    }
    Tool.objects.create(server=server, name=tool, definition=definition)
    household.ids |= {"server": server.pk, "server name": server.name, "tool": tool}
    return server


def _rules(household: Household) -> None:
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


def _operation(
    household: Household,
    server: Server,
    thing: str,
    readers: Collection[str],
    starter: str = OPERATOR,
    **columns: Any,
) -> Operation:
    """An operation with a mark in everything that it carries."""

    def mark(label: str) -> str:
        return household.mark(thing, label, readers)

    def never(label: str) -> str:
        return household.mark(thing, label, NOT_EVEN_ADMINS)

    state = columns.setdefault("state", State.INPUT_REQUIRED)
    now = timezone.now()
    operation: Operation = OperationFactory(
        server=server,
        tool_name=household.ids["tool"],
        started_by=household.people[starter],
        reason=household.name("why it was started"),
        explanation=household.name("explanation"),
        task_id=never("task id"),
        arguments={"project": mark("arguments")},
        created_at=now,
        updated_at=now,
        finished_at=now if state in TERMINAL else None,
        **columns,
    )
    Payload.objects.filter(operation=operation).update(
        request_state=never("request state"),
        notes=[mark("notes")],
        decisions=[
            {"at": now.isoformat(), "by": "Oskar", "choice": "x", "reason": mark("decisions")}
        ],
        **_outcome(State(state), mark),
    )
    AttemptFactory(operation=operation, number=1, request_id=1, task_id=never("late task id"))
    household.ids[f"{thing} operation"] = operation.pk
    return operation


def _outcome(state: State, mark: Callable[[str], str]) -> dict[str, Any]:
    if state in TERMINAL:
        return {"result": {"content": [{"type": "text", "text": mark("result")}]}}
    said: dict[str, Any] = {"status_message": mark("status message")}
    if state == State.UNKNOWN:
        said |= {"error": {"code": -32000, "message": mark("error")}}
    return said


def _question(
    household: Household, operation: Operation, thing: str, readers: Collection[str], **item: Any
) -> Approval:
    """A question of the server with a mark in all its words; its item."""

    def mark(label: str) -> str:
        return household.mark(thing, label, readers)

    field_of_form = {"type": "string", "title": mark("field"), "description": mark("help")}
    decided = item.get("state") == ApprovalState.DECIDED
    request = InputRequestFactory(
        operation=operation,
        key=household.mark(thing, "key", NOT_EVEN_ADMINS),
        params=form_params(mark("question"), note=field_of_form),
        state=InputRequestState.ANSWERED if decided else InputRequestState.OPEN,
        taken_version=1,
    )
    now = timezone.now()
    approval: Approval = ApprovalFactory(
        input_request=request, shape=Shape.FORM, created_at=now, **item
    )
    _said(household, approval, thing, readers)
    if decided:
        DeliveryFactory(
            input_request=request,
            response={"action": "accept", "content": {"note": mark("answer")}},
            answered_by=approval.decided_by,
            state=DeliveryState.OBSERVED,
            saved_at=now,
        )
    household.ids[thing] = approval.pk
    return approval


def _said(household: Household, approval: Approval, thing: str, readers: Collection[str]) -> None:
    """What people wrote about an item: comments for its readers, drafts for nobody else."""
    colleague, now = household.people["colleague"], timezone.now()
    Comment.objects.create(
        approval=approval, user=colleague, text=household.mark(thing, "comment", readers), at=now
    )
    draft = {"note": household.mark(thing, "somebody's draft", NOT_EVEN_ADMINS)}
    Draft.objects.create(approval=approval, user=colleague, submitted=draft, saved_at=now)


def _asked(household: Household, server: Server) -> None:
    """A question that waits for the team's approvers; the approver has begun to write."""
    thing = "question"
    operation = _operation(household, server, thing, PUT_TO_APPROVERS)
    approval = _question(household, operation, thing, PUT_TO_APPROVERS)
    own = household.mark(thing, "draft", (APPROVER,))
    Draft.objects.create(
        approval=approval,
        user=household.people[APPROVER],
        submitted={"note": own},
        saved_at=timezone.now(),
    )


def _claimed(household: Household, server: Server) -> None:
    """A question that a colleague works on."""
    thing = "claimed"
    operation = _operation(household, server, thing, PUT_TO_APPROVERS)
    _question(
        household,
        operation,
        thing,
        PUT_TO_APPROVERS,
        claimed_by=household.people["colleague"],
        claimed_until=timezone.now() + timedelta(minutes=15),
    )


def _link(household: Household, server: Server) -> None:
    """A page to open, to which the approver has agreed; the server waits for them."""
    thing, now = "link", timezone.now()
    operation = _operation(household, server, thing, PUT_TO_APPROVERS)
    address = f"https://accounts.example/{household.mark(thing, 'address', PUT_TO_APPROVERS)}"
    request = InputRequestFactory(
        operation=operation,
        key=household.mark(thing, "key", NOT_EVEN_ADMINS),
        params=url_params(address, household.mark(thing, "question", PUT_TO_APPROVERS)),
        state=InputRequestState.ANSWERED,
        taken_version=1,
    )
    decided = {**_decided_by_colleague(household), "decided_by": household.people[APPROVER]}
    approval = ApprovalFactory(input_request=request, shape=Shape.LINK, created_at=now, **decided)
    DeliveryFactory(
        input_request=request,
        response={"action": "accept"},
        answered_by=approval.decided_by,
        saved_at=now,
    )
    household.ids[thing] = approval.pk


def _asked_of_others(household: Household, server: Server) -> None:
    """A question that was put to one named person, who has proposed an answer."""
    thing = "others' question"
    operation = _operation(household, server, thing, PUT_TO_OTHERS)
    proposal = {"note": household.mark(thing, "proposal", PUT_TO_OTHERS)}
    approval = _question(
        household,
        operation,
        thing,
        PUT_TO_OTHERS,
        audience=Audience.PEOPLE,
        proposal={"action": "accept", "content": proposal},
        proposed_by=household.people["colleague"],
    )
    approval.people.set([household.people["colleague"]])


def _completed(household: Household, server: Server) -> None:
    """An operation that is over, whose question was answered by a colleague."""
    thing = "answered"
    operation = _operation(household, server, thing, PUT_TO_APPROVERS, state=State.COMPLETED)
    _question(household, operation, thing, PUT_TO_APPROVERS, **_decided_by_colleague(household))


def _of_the_viewer(household: Household, server: Server) -> None:
    """What the viewer started when they still might, and a named person answered."""
    thing, readers = "viewer's", (VIEWER, *PUT_TO_OTHERS)
    operation = _operation(household, server, thing, readers, starter=VIEWER, state=State.COMPLETED)
    decided = _decided_by_colleague(household)
    _question(household, operation, thing, readers, audience=Audience.PEOPLE, **decided)


def _decided_by_colleague(household: Household) -> dict[str, Any]:
    now = timezone.now()
    return {
        "state": ApprovalState.DECIDED,
        "decision": Choice.ACCEPT,
        "decided_by": household.people["colleague"],
        "decided_at": now,
        "closed_at": now,
    }


def _unknown(household: Household, server: Server) -> None:
    """An operation that an operator has to look after."""
    _operation(household, server, "unknown", PUT_TO_OTHERS, state=State.UNKNOWN)


def _gate(household: Household, server: Server) -> None:
    """A call that waits for two approvers; one has approved, and said why."""
    thing, now = "gate", timezone.now()
    operation = _operation(
        household, server, thing, PUT_TO_APPROVERS, state=State.AWAITING_APPROVAL
    )
    ask = {"audience": "approvers", "quorum": 2, "four_eyes": True, "at_deadline": "expire"}
    approval = Approval.objects.create(
        team=household.team,
        operation=operation,
        kind="gate",
        shape=Shape.RUN,
        audience=Audience.APPROVERS,
        created_at=now,
        deadline_at=now + timedelta(days=1),
        four_eyes=True,
        policy={"rule": household.name("snapshot"), "number": 1, "failed": False, "ask": ask},
    )
    Vote.objects.create(
        approval=approval,
        user=household.people["colleague"],
        version=1,
        choice=Verdict.APPROVE,
        at=now,
        reason=household.mark(thing, "reason", PUT_TO_APPROVERS),
    )
    _said(household, approval, thing, PUT_TO_APPROVERS)
    household.ids[thing] = approval.pk


def _remembered(household: Household, server: Server) -> None:
    """A call that the approver has just approved, and what a colleague had remembered."""
    thing, now = "approved gate", timezone.now()
    operation = OperationFactory(
        server=server,
        tool_name=household.ids["tool"],
        state=State.COMPLETED,
        started_by=household.people[OPERATOR],
    )
    ask = {"audience": "approvers", "remember": True}
    approval = Approval.objects.create(
        team=household.team,
        operation=operation,
        kind="gate",
        shape=Shape.RUN,
        audience=Audience.APPROVERS,
        created_at=now,
        four_eyes=True,
        policy={"rule": household.name("snapshot"), "number": 1, "failed": False, "ask": ask},
        state=ApprovalState.DECIDED,
        decision=Verdict.APPROVE,
        decided_by=household.people[APPROVER],
        decided_at=now,
        closed_at=now,
    )
    one = Remembered.objects.create(
        team=household.team,
        server=server,
        tool_name=household.ids["tool"],
        created_by=household.people["colleague"],
        created_at=now,
        ends_at=now + timedelta(hours=1),
    )
    household.ids |= {thing: approval.pk, "remembered": one.pk}


def membership(household: Household, role: str) -> Membership:
    """The membership of the actor with this role."""
    return Membership.objects.get(team=household.team, user=household.people[role])

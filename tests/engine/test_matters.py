"""Each matter is one alert, which closes itself, and does not come back once seen to."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from mcpdesk.accounts.access import member_in
from mcpdesk.accounts.models import Role
from mcpdesk.notify import alerts
from mcpdesk.notify.models import Alert, Channel, ChannelKind, Message, MessageState
from tasks_monitor.engine import matters
from tasks_monitor.engine.reconcile import Choice, reconcile
from tasks_monitor.models import Expectation, Operation
from tasks_monitor.states import State
from tests.engine import peer
from tests.engine.desk import ScriptedDesk
from tests.engine.racing import side_by_side
from tests.factories import NOW, MembershipFactory

pytestmark = pytest.mark.django_db

Begin = Callable[[ScriptedDesk], Operation]


def open_alerts() -> list[str]:
    found = Alert.objects.filter(closed_at__isnull=True)
    return [matter.partition(":")[0] for matter in found.values_list("matter", flat=True)]


def look(desk: ScriptedDesk, after_s: float = 0) -> list[str]:
    """Look at what lasts, and say what is open."""
    desk.clock.advance(after_s)
    matters.look(desk.clock.now)
    return sorted(open_alerts())


def seen_to(desk: ScriptedDesk) -> None:
    """The operator has seen to what is open."""
    assert desk.actor.user is not None
    member = member_in(desk.actor.user, desk.server.team_id)
    assert member is not None
    for alert in Alert.objects.filter(closed_at__isnull=True):
        alerts.see_to(alert.pk, member=member, now=desk.clock.now)


def running(desk: ScriptedDesk) -> Operation:
    """A task that is to come to its end within a minute."""
    Expectation.objects.create(server=desk.server, tool_name="echo", limit_s=60)
    desk.peer.will(peer.CALL, peer.handle())
    desk.peer.will(peer.GET, peer.task())
    return desk.look(desk.start())


def test_an_end_that_does_not_come_in_time_is_one_alert_until_it_comes(
    scripted: ScriptedDesk,
) -> None:
    operation = running(scripted)
    assert look(scripted, 59) == []
    assert look(scripted, 1) == ["late"]
    assert look(scripted, 60) == ["late"]
    assert Alert.objects.get().path == f"/operations/{operation.pk}/"

    scripted.peer.will(peer.GET, peer.completed())
    scripted.look(operation)
    assert open_alerts() == []
    assert look(scripted) == []
    states = set(Message.objects.values_list("state", flat=True))
    assert states == {MessageState.DROPPED}, "over before anybody was told"


def test_a_limit_of_another_tool_alerts_nobody(scripted: ScriptedDesk) -> None:
    Expectation.objects.create(server=scripted.server, tool_name="other", limit_s=1)
    scripted.peer.will(peer.CALL, peer.handle())
    scripted.look(scripted.start())
    assert look(scripted, 3600) == []


def test_while_it_waits_for_people_nothing_is_late(scripted: ScriptedDesk) -> None:
    operation = running(scripted)
    scripted.peer.will(peer.GET, peer.waiting("go"))
    scripted.look(operation)
    assert operation.state == State.INPUT_REQUIRED
    assert look(scripted, 7200) == []


def unknown(desk: ScriptedDesk) -> Operation:
    desk.peer.will(peer.CALL, peer.Nothing())
    return desk.look(desk.start())


def lost(desk: ScriptedDesk) -> Operation:
    desk.peer.will(peer.CALL, peer.handle())
    desk.peer.will(peer.GET, peer.Error(-32602))
    operation = desk.start()
    for _ in range(3):
        desk.look(operation)
    return operation


def stuck(desk: ScriptedDesk) -> Operation:
    desk.peer.will(peer.CALL, peer.asking())
    operation = desk.start()
    for _ in range(25):
        desk.look(operation)
    return operation


@pytest.mark.parametrize("begin", [unknown, lost, stuck])
@pytest.mark.parametrize("choice", [Choice.RECORD_DONE, Choice.SEND_AGAIN])
def test_what_cannot_go_on_is_one_alert_until_somebody_reconciles_it(
    scripted: ScriptedDesk, begin: Begin, choice: Choice
) -> None:
    operation = begin(scripted)
    assert open_alerts() == [begin.__name__]
    assert look(scripted, 60) == [begin.__name__]
    call = f"“{operation.tool_name}” ({str(operation.pk)[:8]})"
    assert call in Alert.objects.get().sentence

    reconcile(
        operation.pk,
        choice=choice,
        reason="looked",
        evidence="seen there",
        actor=scripted.actor,
        now=scripted.clock.now,
    )
    assert open_alerts() == []
    closed = Alert.objects.get()
    assert (closed.closed_at, closed.closed_by) == (scripted.clock.now, None)


def test_an_answer_that_comes_late_closes_the_alert(scripted: ScriptedDesk) -> None:
    scripted.peer.will(peer.CALL, peer.finished())
    operation = scripted.begin(scripted.start())
    scripted.clock.advance(24 * 3600)
    scripted.sweep()
    assert open_alerts() == ["unknown"]
    scripted.arrive()
    operation.refresh_from_db()
    assert operation.state == State.COMPLETED
    assert open_alerts() == []


def away(desk: ScriptedDesk) -> Operation:
    """A call to a server that nobody reaches."""
    desk.peer.will(peer.CALL, peer.Nothing(sent=False))
    return desk.look(desk.start())


def test_a_server_out_of_reach_for_longer_is_one_alert_until_it_answers(
    scripted: ScriptedDesk,
) -> None:
    operation = away(scripted)
    assert look(scripted, 299) == []
    assert look(scripted, 1) == ["unreachable"]
    assert look(scripted, 60) == ["unreachable"]
    assert Alert.objects.get().path == f"/servers/{scripted.server.pk}/"

    scripted.peer.will(peer.CALL, peer.finished())
    scripted.look(operation)
    assert open_alerts() == []


def test_a_server_that_is_paused_is_nobodys_matter(scripted: ScriptedDesk) -> None:
    away(scripted)
    assert look(scripted, 300) == ["unreachable"]
    scripted.server.refresh_from_db()
    scripted.server.paused = True
    scripted.server.save()
    assert look(scripted, 10) == []


def given_up(desk: ScriptedDesk) -> Message:
    """A message to a channel that no attempt brought there."""
    channel, _ = Channel.objects.get_or_create(
        team=desk.server.team,
        kind=ChannelKind.SLACK,
        name="Chat",
        defaults={"target": {"url": "https://chat.example/x"}, "created_at": NOW},
    )
    return Message.objects.create(
        team=channel.team,
        medium="slack",
        channel=channel,
        target=f"c{channel.pk}",
        topic="asked",
        event="approval.opened",
        matter="approval:1",
        once=f"{Message.objects.count()}",
        content={"subject": "", "sentence": "", "path": "/", "facts": [], "arguments": ""},
        state=MessageState.DEAD,
        created_at=NOW,
        finished_at=desk.clock.now,
    )


def test_messages_that_were_given_up_are_one_alert_until_they_arrive(
    scripted: ScriptedDesk,
) -> None:
    messages = [given_up(scripted) for _ in range(2)]
    assert look(scripted) == ["not_told"]
    alert = Alert.objects.get()
    assert "Chat" in alert.sentence and alert.path == "/team/channels/"
    for message in messages:
        message.state = MessageState.SENT
        message.save()
    assert look(scripted, 10) == []


def test_a_channel_that_is_deleted_takes_its_alert_along(scripted: ScriptedDesk) -> None:
    message = given_up(scripted)
    assert look(scripted) == ["not_told"]
    assert message.channel is not None
    message.channel.delete()
    assert look(scripted, 10) == []


@pytest.mark.parametrize("begin", [running, away, given_up])
def test_what_somebody_has_seen_to_does_not_come_back_while_it_lasts(
    scripted: ScriptedDesk, begin: Begin
) -> None:
    begin(scripted)
    assert len(look(scripted, 300)) == 1
    seen_to(scripted)
    assert look(scripted, 10) == []
    assert Alert.objects.get().closed_by == scripted.actor.user


def test_what_begins_anew_is_a_new_alert(scripted: ScriptedDesk) -> None:
    operation = away(scripted)
    look(scripted, 300)
    seen_to(scripted)
    scripted.peer.will(peer.CALL, peer.finished())
    scripted.look(operation)
    scripted.clock.advance(1)
    away(scripted)
    assert look(scripted, 300) == ["unreachable"]
    given_up(scripted)
    assert look(scripted) == ["not_told", "unreachable"]
    seen_to(scripted)
    scripted.clock.advance(60)
    given_up(scripted)
    assert look(scripted) == ["not_told"]


def test_operators_and_admins_are_told_and_nobody_else(
    scripted: ScriptedDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcpdesk.notify.outbox.sends_mail", lambda: True)
    team = scripted.server.team
    people = {role: MembershipFactory(team=team, role=role).user for role in Role}
    unknown(scripted)
    told = set(Message.objects.values_list("user_id", flat=True))
    assert told == {people[Role.OPERATOR].pk, people[Role.ADMIN].pk, scripted.actor.user.pk}  # type: ignore[union-attr]


def test_a_fault_in_one_kind_keeps_the_others_going(
    scripted: ScriptedDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError

    running(scripted)
    given_up(scripted)
    monkeypatch.setattr(matters, "raise_late", broken)
    assert look(scripted, 300) == ["not_told"]


@pytest.mark.django_db(transaction=True)
def test_two_clocks_at_once_raise_one_alert(scripted: ScriptedDesk) -> None:
    running(scripted)
    now = scripted.clock.now + timedelta(minutes=5)
    assert side_by_side(*[lambda: matters.look(now)] * 2) == [None, None]
    assert Alert.objects.count() == 1

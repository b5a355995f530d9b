"""Questions in bad faith: nothing executes, nothing hides, nothing hangs, and no always works."""

import uuid
from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from approvals import intake
from approvals.models import Approval, ApprovalState
from mcpdesk.mcp.limits import MAX_INPUT_REQUESTS
from tasks_monitor.models import Answerers, Delivery, InputRequest, Operation, Payload, Tool
from tasks_monitor.states import State
from tests.browser.people import Crew, path, until
from tests.browser.watching import FAST_MS, Watched
from tests.browser.whole_desk import WholeDesk
from tests.factories import (
    InputRequestFactory,
    OperationFactory,
    ServerFactory,
    form_params,
)
from tests.hostile import (
    ADDRESSES,
    BREAKOUTS,
    LINKS,
    MARKUP,
    NAMES,
    SCHEMAS,
    SIZES,
    TRICKS,
)

pytestmark = pytest.mark.browser

#: Of all addresses those that a browser could run, or that lie about where they lead.
WORST = (
    "javascript:window.pwned=1",
    "data:text/html,<script>window.pwned=1</script>",
    "https://good.example@evil.example/",
    "https://\u0430pple.com/",
    "https://evil.example/\u202egnp.exe",
)
PHONE = {"width": 390, "height": 844}


@pytest.fixture
def watched(team: Crew, desk: WholeDesk) -> Iterator[Watched]:
    page = team.approver.context(viewport=PHONE).new_page()
    team.approver.consoles.watch(page)
    watched = Watched(page, desk.url)
    yield watched
    assert not watched.wrong, "\n" + "\n".join(watched.wrong)


@pytest.fixture
def asked(team: Crew) -> Callable[..., Approval]:
    """asked(params) is an item for this question, as the engine would have kept it."""
    server = ServerFactory(team=team.team, name="hostile", paused=True)

    def asked(params: Any, **operation: Any) -> Approval:
        made = operation.pop("operation", None) or OperationFactory(
            server=server,
            started_by=team.operator.user,
            questions_to=Answerers.APPROVERS,
            # the desk's own clock gives up what is older than a month
            created_at=timezone.now(),
            **operation,
        )
        request: InputRequest = InputRequestFactory(operation=made, params=params)
        intake.take_in(made.pk, now=timezone.now())
        return Approval.objects.get(input_request=request)

    return asked


def _is_ended(item: Approval, choice: str) -> None:
    until(lambda: Approval.objects.get(pk=item.pk).state == ApprovalState.DECIDED)
    assert Approval.objects.get(pk=item.pk).decision == choice


def _say_no(watched: Watched, items: list[Approval]) -> None:
    """Decline and cancel work by turns, on a phone."""
    for item, choice in zip(items, cycle(("decline", "cancel")), strict=False):
        watched.go(path(item))
        watched.send(choice)
        _is_ended(item, choice)


def test_text_that_tricks_the_eye_is_written_out(
    watched: Watched, asked: Callable[..., Approval]
) -> None:
    for name in ("right-to-left override", "zero width", "tag characters", "escape sequences"):
        text, visible = TRICKS[name]
        field_of_it = {"type": "string", "title": text, "description": text}
        item = asked(form_params(text, note=field_of_it))
        _say_no(watched, [item])
        watched.reads(visible)


def test_a_text_of_any_size_hides_no_button(
    watched: Watched, asked: Callable[..., Approval]
) -> None:
    note = {"type": "string"}
    _say_no(watched, [asked(form_params(text[:250_000], note=note)) for text in SIZES.values()])


def test_a_form_of_any_kind_can_be_declined(
    watched: Watched, asked: Callable[..., Approval]
) -> None:
    harsh = ("names", "a choice of thousands", "900 fields", "sixty levels", "one title for all")
    _say_no(watched, [asked(SCHEMAS[name]) for name in harsh])


def test_markup_is_text_in_every_word_of_a_question(
    watched: Watched, asked: Callable[..., Approval]
) -> None:
    item = asked(SCHEMAS["markup in every word"], arguments={MARKUP: MARKUP}, reason=MARKUP[:500])
    watched.go(path(item))
    for words in BREAKOUTS:
        watched.reads(words)
    watched.press("decline")
    _is_ended(item, "decline")
    watched.look()


def test_no_address_is_a_link_before_somebody_agrees(
    watched: Watched, asked: Callable[..., Approval]
) -> None:
    for address in WORST:
        _say_no(watched, [asked(LINKS[address])])
        watched.reads(ADDRESSES[address])
        watched.leads_nowhere()


def test_fields_may_have_any_name_and_are_answered_under_it(
    watched: Watched, asked: Callable[..., Approval]
) -> None:
    item = asked(SCHEMAS["names"])
    watched.go(path(item))
    confirm = watched.page.locator("#item [name=secret-confirmed], #item [name=gives_secrets]")
    for number in range(len(NAMES)):
        watched.page.locator(f"#item [name=field-{number}]").fill(f"value {number}")
    if confirm.count():
        confirm.first.check()
    watched.page.locator("#item button[name=choice][value=accept]").click()
    until(lambda: Approval.objects.get(pk=item.pk).state == ApprovalState.DECIDED)
    answer = Delivery.objects.get(input_request__approval=item).response
    assert answer["content"] == {name: f"value {n}" for n, name in enumerate(NAMES)}


def test_a_pattern_without_end_does_not_hold_the_answer_up(
    watched: Watched, asked: Callable[..., Approval]
) -> None:
    item = asked(SCHEMAS["a pattern without end"])
    watched.go(path(item))
    watched.page.locator("#item [name=field-0]").fill("a" * 60 + "!")
    watched.page.locator("#item button[name=choice][value=accept]").click()
    expect(watched.page.get_by_role("alert").first).to_contain_text(
        "Nothing was sent", timeout=FAST_MS * 2
    )
    watched.press("decline")
    _is_ended(item, "decline")
    watched.look()


def test_fifty_questions_of_one_call_can_each_be_declined(
    watched: Watched, asked: Callable[..., Approval]
) -> None:
    first = asked(form_params("Question 1", note={"type": "string"}))
    for number in range(2, MAX_INPUT_REQUESTS + 1):
        asked(form_params(f"Question {number}", note={"type": "string"}), operation=first.operation)
    watched.go("/inbox/")
    watched.go(path(first))
    watched.press("decline")
    _is_ended(first, "decline")
    watched.look()
    still_open = Approval.objects.filter(operation=first.operation, state=ApprovalState.OPEN)
    assert still_open.count() == MAX_INPUT_REQUESTS - 1


def test_every_page_shows_a_servers_words_as_text(
    team: Crew, watched: Watched, asked: Callable[..., Approval]
) -> None:
    """Tool, server, status, result, error: the same words on the pages that are not the inbox's."""
    operation = _said_everywhere(team)
    watched.page.context.clear_cookies()
    cookie = {"name": "sessionid", "value": team.operator.session_key, "url": watched.origin}
    watched.page.context.add_cookies([cookie])
    server, tool = operation.server_id, MARKUP[:250]
    query = f"/operations/new/?server={server}"
    for address in (f"/operations/{operation.pk}/", f"/servers/{server}/", query):
        watched.go(address)
        for words in BREAKOUTS[:4]:
            watched.reads(words)
        watched.fits()
    for address in ("/operations/?tab=all", "/servers/", "/inbox/?tab=team"):
        watched.go(address)
    watched.page.goto(query)
    watched.page.get_by_role("link", name=tool[:20]).first.click()
    expect(watched.page.locator("[name=reason]")).to_be_visible()
    watched.look()


def _said_everywhere(team: Crew) -> Operation:
    """An operation with the markup in everything a server can say."""
    said = {"name": MARKUP, "title": MARKUP, "version": MARKUP}
    server = ServerFactory(
        team=team.team,
        paused=True,
        identity=MARKUP[:80],
        last_problem=MARKUP[:500],
        test_problem=MARKUP,
        discovery={"serverInfo": said, "instructions": MARKUP, "capabilities": {MARKUP: {}}},
    )
    schema = {"type": "object", "properties": {MARKUP: {"type": "string", "title": MARKUP}}}
    definition = {**said, "description": MARKUP, "inputSchema": schema}
    Tool.objects.create(server=server, name=MARKUP[:250], definition=definition)
    operation: Operation = OperationFactory(
        server=server,
        tool_name=MARKUP[:250],
        state=State.COMPLETED,
        finished_at=timezone.now(),
        started_by=team.operator.user,
        reason=MARKUP[:500],
        explanation=MARKUP[:500],
        idempotency_key=str(uuid.uuid4()),
        arguments={MARKUP: [MARKUP]},
    )
    block = {"type": "text", "text": MARKUP}
    unknown = {"type": MARKUP, MARKUP: MARKUP}
    link = {"type": "resource_link", "uri": "javascript:window.pwned=1", "name": MARKUP}
    picture = {"type": "image", "mimeType": "image/svg+xml", "data": "PHN2Zy8+"}
    Payload.objects.filter(operation=operation).update(
        status_message=MARKUP,
        notes=[MARKUP],
        error={"code": 1, "message": MARKUP, "data": MARKUP},
        result={"content": [block, unknown, link, picture], "structuredContent": {MARKUP: MARKUP}},
    )
    return operation

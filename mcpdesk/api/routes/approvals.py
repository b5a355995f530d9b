"""Approvals: list, read with everything that is shown, decide with the version seen."""

from typing import Any, assert_never
from uuid import UUID

from django.db.models import prefetch_related_objects
from ninja import Query, Router

from approvals import folds, history, outcomes, question, schema_form, selectors
from approvals.decide import Said, decide
from approvals.filters import Chosen, Filters, Tab
from approvals.history_filters import ApprovalFilters
from approvals.models import Approval, Choice, Kind, Verdict
from approvals.outcomes import Counted, Ended, Lost, Missing, Refused, Voted
from approvals.policy import Waiting
from approvals.question import Question, Submitted
from approvals.verdict import Word, decide_gate
from mcpdesk import keyset
from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.tokens import Scope
from mcpdesk.api import shown
from mcpdesk.api.callers import ApiRequest, Bearer, Caller
from mcpdesk.api.listing import WantedApprovals, check_cursor, filters_of
from mcpdesk.api.problems import Problem
from mcpdesk.api.schemas import ApprovalOut, Approvals, Decided, Decision, Text
from mcpdesk.audit.models import Channel
from mcpdesk.mcp.jsontext import canonical

router = Router(tags=["approvals"])

NOT_YOURS = "This is not put to you, or somebody else must decide it. Nothing was decided."
NO_SUCH_FIELD = "The form has no such field."
NOT_SENT_SO = "A form would send this otherwise. Give a value of the field's own kind."
ALWAYS_SENT = "This field is sent in any case: say what."


@router.get("", auth=Bearer(Scope.READ), response=Approvals)
def approvals(request: ApiRequest, tab: Tab = Tab.MINE, after: Text = "") -> Any:
    """The approvals of one tab of the inbox.

    `mine`: those that wait for you, oldest first. `team`: all that are open. `decided`: all that
    are over, newest first.
    """
    caller = request.auth
    check_cursor(selectors.is_cursor(after), after)
    chosen = Chosen(tab=tab, filters=Filters(), after=after)
    page = selectors.page(caller.member, chosen, caller.now)
    return {"items": _rows(page.rows), "after": page.after}


@router.get("/history", auth=Bearer(Scope.READ), response=Approvals)
def all_approvals(request: ApiRequest, wanted: Query[WantedApprovals], after: Text = "") -> Any:
    """All approvals of the team, narrowed and sorted as on the page of the history."""
    member = request.auth.member
    filters = filters_of(ApprovalFilters, member, wanted)
    check_cursor(keyset.is_cursor(filters.order, after), after)
    page = history.page(member, filters, after)
    return {"items": _rows(page.rows), "after": page.after}


@router.get("/{uuid:pk}", auth=Bearer(Scope.READ), response=ApprovalOut, url_name="approval")
def approval(request: ApiRequest, pk: UUID) -> Any:
    """One approval, with all that its page shows and the `binding` that a decision needs."""
    caller = request.auth
    return shown.approval(_find(caller.member, pk), caller.member, caller.now)


@router.post(
    "/{uuid:pk}/decision",
    auth=Bearer(Scope.DECIDE),
    response={200: Decided},
    openapi_extra={"responses": {409: {"description": "It changed, or somebody was first"}}},
)
def decision(request: ApiRequest, pk: UUID, wanted: Decision) -> Any:
    """Say what the token's person says to it.

    The same rules as on the page: the version that was read, four eyes, so many different people.
    The same word by the same person once more changes nothing.
    """
    caller = request.auth
    found = _find(caller.member, pk)
    if found.is_open and not access.may_decide(caller.member, found):
        raise Problem(403, NOT_YOURS, "not-yours")
    outcome = _decided(found, wanted, caller)
    final, sentence = _read(outcome, wanted.choice)
    return Decided(
        final=final,
        sentence=sentence,
        approval=ApprovalOut(**shown.approval(_find(caller.member, pk), caller.member, caller.now)),
    )


def _rows(found: list[Approval]) -> list[dict[str, Any]]:
    shown_with = ("operation__server", "operation__started_by", "operation__token")
    prefetch_related_objects(found, *shown_with)
    return [shown.approval_row(one) for one in found]


def _find(member: Member, pk: UUID) -> Approval:
    """An approval of the team. Raises Problem."""
    found = selectors.find_in_team(member, pk)
    if found is None:
        raise Problem(404, "There is no such approval for this token.")
    return found


def _decided(
    found: Approval, wanted: Decision, caller: Caller
) -> outcomes.Outcome | outcomes.VerdictOutcome:
    how: dict[str, Any] = {"member": caller.member, "now": caller.now, "channel": Channel.API}
    # nothing was folded: what was read here was whole
    opened = folds.of(found)
    if found.kind == Kind.GATE:
        if not isinstance(wanted.choice, Verdict):
            raise Problem(422, "Say approve or deny.", "choice")
        word = Word(wanted.choice, wanted.binding, wanted.reason, opened)
        return decide_gate(found.pk, word=word, **how)
    if not isinstance(wanted.choice, Choice):
        raise Problem(422, "Say accept, decline or cancel.", "choice")
    said = Said(
        choice=wanted.choice,
        token=wanted.binding,
        submitted=_submitted(found, wanted),
        gives_secrets=wanted.gives_secrets,
        opened=opened,
        proposes=wanted.proposes,
    )
    return decide(found.pk, said=said, **how)


def _submitted(found: Approval, wanted: Decision) -> Submitted:
    """The content as a browser would post it; raises Problem unless just this would be sent."""
    if found.input_request is None or wanted.choice != Choice.ACCEPT:
        return {}
    asked = question.read(found.input_request)
    errors = _otherwise(asked, wanted.content)
    if errors:
        listed = [{"field": f"content.{name}", "detail": said} for name, said in errors.items()]
        raise Problem(422, "Nothing was sent: see each field.", "content", errors=listed)
    return _posted(asked, wanted.content)


def _posted(asked: Question, content: dict[str, Any]) -> Submitted:
    fields = [field for field in asked.fields if field.name in content]
    return {field.name: schema_form.posted(field, content[field.name]) for field in fields}


def _otherwise(asked: Question, content: dict[str, Any]) -> dict[str, str]:
    """A sentence for each field in which the form would send something else than was said."""
    names = {field.name for field in asked.fields}
    errors = {name: NO_SUCH_FIELD for name in content if name not in names}
    made = schema_form.answer(asked.requested_schema, _posted(asked, content))
    if errors or isinstance(made, schema_form.Unrenderable) or asked.link is not None:
        return errors
    if isinstance(made, schema_form.Refused):
        return made.errors
    for name in content:
        if name not in made.content or canonical(made.content[name]) != canonical(content[name]):
            errors[name] = NOT_SENT_SO
    return errors | {name: ALWAYS_SENT for name in made.content if name not in content}


def _read(
    outcome: outcomes.Outcome | outcomes.VerdictOutcome, choice: Choice | Verdict
) -> tuple[bool, str]:
    """Whether it is decided now, and a sentence. Raises Problem for all that was not done."""
    match outcome:
        case outcomes.Decided():
            return True, "Decided. The answer is saved and on its way."
        case Voted():
            waits = isinstance(outcome.came_to, Waiting)
            return not waits, "Counted; more people have to agree." if waits else "Decided."
        case Counted():
            return False, outcome.sentence
        case outcomes.AlreadyAnswered() if outcome.choice == choice:
            return True, outcome.sentence
        case outcomes.AlreadyAnswered() | Lost() | Ended():
            raise Problem(409, outcome.sentence, "decided")
        case Refused():
            listed = [{"field": f"content.{k}", "detail": v} for k, v in outcome.errors.items()]
            raise Problem(422 if listed else 409, outcome.sentence, "refused", errors=listed)
        case Missing():
            raise Problem(404, "There is no such approval for this token.")
        case _:
            assert_never(outcome)

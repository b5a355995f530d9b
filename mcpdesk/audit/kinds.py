"""The kinds of event, the fields each may carry, and the sentence a timeline shows for it.

This is the allow-list of the log: a field that is not named here cannot be written. Fields hold
ids, names of tools and servers, states, counts, durations, error codes; never arguments, answers,
messages, `requestState`, credentials, or a task id in clear (`task` is a short hash).

Fields that name people are declared apart: they are written from the User, with the id beside the
name (`person`, `person_id`), so that the log's seals can do without the name, and erasure finds it.
"""

import re
from dataclasses import dataclass
from operator import itemgetter


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of event: a sentence with {field} places, and the fields it may carry.

    `people`: those that name a person. One that is in `fields` too may also name something else.
    """

    sentence: str
    fields: frozenset[str] = frozenset()
    people: frozenset[str] = frozenset()


def _kind(sentence: str, *fields: str, people: tuple[str, ...] = ()) -> Kind:
    return Kind(sentence, frozenset(fields), frozenset(people))


KINDS: dict[str, Kind] = {
    # operations
    "operation.started": _kind("{actor} started {tool} on {server}", "tool", "server"),
    "operation.requested": _kind("{actor} asked to run {tool} on {server}", "tool", "server"),
    "operation.adopted": _kind(
        "{actor} put task {task} of {tool} on {server} under the desk's care",
        "tool",
        "server",
        "task",
    ),
    "operation.moved": _kind("{before} → {after}: {reason}", "before", "after", "reason", "code"),
    "operation.cancel_requested": _kind("{actor} asked to cancel"),
    "operation.cancel_sent": _kind("The server was asked to cancel", "code"),
    "operation.cancel_unanswered": _kind(
        "The server gave no usable answer to {count} requests to cancel; no more are sent", "count"
    ),
    "operation.check_requested": _kind("{actor} asked for a check now"),
    "operation.reconciled": _kind("{actor} decided: {choice}", "choice"),
    "repair.proposed": _kind("{actor} proposes: {choice}", "choice"),
    "repair.agreed": _kind("{actor} agrees to what {person} proposed", people=("person",)),
    "repair.refused": _kind("{actor} refuses what {person} proposed", people=("person",)),
    "repair.withdrawn": _kind("{actor} took the proposal back"),
    # requests on the wire
    "call.sent": _kind(
        "Call {attempt} sent (request {request_id})",
        "attempt",
        "request_id",
        "round",
    ),
    "call.held": _kind("On hold: the call is not sent until somebody ends that"),
    "call.not_sent": _kind("Call {attempt} did not leave: {reason}", "attempt", "reason"),
    "call.answered": _kind(
        "Call {attempt} came to {outcome}", "attempt", "outcome", "code", "duration_ms"
    ),
    "call.late": _kind(
        "An answer to call {attempt} came after the operation had ended: {outcome}",
        "attempt",
        "outcome",
    ),
    # the remote task
    "task.created": _kind("The server made task {task}", "task", "status"),
    "task.changed": _kind(
        "The server says {status} (after {polls} checks)", "status", "polls", "task"
    ),
    "task.late": _kind("The task answered {status} after the operation had ended", "status"),
    "task.missing": _kind("The server does not know the task ({count})", "count", "code"),
    "task.note": _kind("Noted: {note}", "note"),
    # questions and their answers
    "question.opened": _kind("The server asks ({mode})", "question", "mode", "round"),
    "question.closed": _kind("The question closed: {reason}", "question", "reason"),
    "question.undeclared": _kind(
        "The server asks what nobody can answer here ({method})", "question", "method"
    ),
    "answer.saved": _kind("{actor} answered: {action}", "question", "action"),
    "answer.sent": _kind("The answer was sent", "question", "count"),
    "answer.acknowledged": _kind("The server acknowledged the answer", "question"),
    "answer.observed": _kind("The server took the answer", "question"),
    "answer.ignored": _kind(
        "The server keeps asking: it may have dropped the answer", "question", "count"
    ),
    # approvals
    "approval.opened": _kind("Put to {audience}", "audience"),
    "approval.voted": _kind("{actor} said {choice}", "choice"),
    "approval.voted_for": _kind(
        "{actor} said {choice}, standing in for {person}", "choice", people=("person",)
    ),
    "approval.proposed": _kind("{actor} proposed an answer for others to confirm"),
    "approval.progress": _kind("{count} of {needed} agree to the answer", "count", "needed"),
    "approval.decided": _kind("Decided: {choice}", "choice"),
    "approval.closed": _kind("The item closed: {reason}", "reason"),
    "approval.reminded": _kind("Reminded: {part} of its time is over", "part"),
    "approval.escalated": _kind("Also put to {audience} (step {step})", "audience", "step"),
    "approval.nobody_left": _kind("Not enough people are left who may decide: the admins know"),
    "approval.somebody_again": _kind("Enough people may decide again"),
    "approval.snoozed": _kind("{actor} put it aside for now"),
    "approval.looked": _kind("{actor} opened the item"),
    "approval.claimed": _kind("{actor} claimed it for {minutes} min", "minutes"),
    "approval.released": _kind("{actor} gave it back"),
    "approval.taken_over": _kind("{actor} took it over from {person}", people=("person",)),
    "approval.handed": _kind("{actor} handed it to {person}", people=("person",)),
    "approval.commented": _kind("{actor} wrote a comment"),
    "approval.link_failed": _kind("{actor} says that the link did not work"),
    # the gate before the call, and the policy it follows
    "gate.evaluated": _kind("The policy says {effect} ({rule})", "effect", "rule", "number"),
    "gate.refused": _kind(
        "{actor} was refused {tool} on {server} by rule {rule}", "tool", "server", "rule", "number"
    ),
    "gate.rule_failed": _kind(
        "Rule {rule} could not be applied, so people are asked: {reason}", "rule", "reason"
    ),
    "gate.progress": _kind("{count} of {needed} have approved", "count", "needed"),
    "policy.added": _kind("{actor} added rule {rule} ({effect})", "rule", "effect", "number"),
    "policy.changed": _kind("{actor} changed rule {rule}: {fields}", "rule", "fields"),
    "policy.renamed": _kind("{actor} renamed rule {before} to {rule}", "before", "rule"),
    "policy.moved": _kind(
        "{actor} moved rule {rule} from place {before} to {after}", "rule", "before", "after"
    ),
    "policy.enabled": _kind("{actor} switched rule {rule} on", "rule"),
    "policy.disabled": _kind("{actor} switched rule {rule} off", "rule"),
    "policy.reasons_changed": _kind("{actor} changed the usual reasons", "count"),
    "policy.removed": _kind("{actor} removed rule {rule} ({effect})", "rule", "effect"),
    "policy.imported": _kind(
        "{actor} imported the policy: {added} added, {changed} changed, {removed} removed",
        "added",
        "changed",
        "removed",
    ),
    # decisions that count for later calls too
    "remembered.left": _kind(
        "{actor} has this approval remembered for {hours} h: {arguments}, {starter}",
        "remembered",
        "hours",
        "arguments",
        "starter",
    ),
    "remembered.used": _kind(
        "Nobody is asked: {person} has approved such calls before (remembered as {remembered})",
        "remembered",
        people=("person",),
    ),
    "remembered.revoked": _kind(
        "{actor} took back the approval of {tool} that {person} had remembered",
        "remembered",
        "tool",
        people=("person",),
    ),
    # lists of the inbox that a team keeps
    "filter.saved": _kind("{actor} saved the list {name} for the team", "name"),
    "filter.renamed": _kind("{actor} renamed the team's list {before} to {name}", "before", "name"),
    "filter.removed": _kind("{actor} deleted the team's list {name}", "name"),
    # servers
    "server.added": _kind("{actor} added server {server}", "server"),
    "server.changed": _kind("{actor} changed {server}: {fields}", "server", "fields"),
    "server.tested": _kind("{server} was tested: {outcome}", "server", "outcome", "code"),
    "server.throttled": _kind("{server} asked to slow down for {seconds} s", "server", "seconds"),
    "server.unauthorized": _kind(
        "{server} refused our credential; it is asked again after {seconds} s", "server", "seconds"
    ),
    "server.unreachable": _kind("{server} cannot be reached: {reason}", "server", "reason"),
    "server.reachable": _kind("{server} can be reached again", "server"),
    "server.limit_set": _kind(
        "{actor} set how long {tool} on {server} may take: {limit}", "tool", "server", "limit"
    ),
    "hold.begun": _kind("{actor} stopped everything that is sent to {scope}", "scope"),
    "hold.ended": _kind("{actor} let it go on to {scope}, after {seconds} s", "scope", "seconds"),
    # what people are told
    "alert.raised": _kind("Operators and admins were alerted ({about})", "about"),
    "alert.closed": _kind("{actor} closed an alert ({about})", "about"),
    "notice.sent": _kind(
        "{to} was told by {medium} ({topic})", "to", "medium", "topic", people=("to",)
    ),
    "notice.given_up": _kind(
        "{to} could not be told by {medium} ({topic})", "to", "medium", "topic", people=("to",)
    ),
    "notice.sent_again": _kind(
        "{actor} sent a message to {to} again", "to", "medium", people=("to",)
    ),
    "channel.added": _kind("{actor} added the channel {channel} ({medium})", "channel", "medium"),
    "channel.changed": _kind(
        "{actor} changed the channel {channel}: {fields}", "channel", "fields"
    ),
    "channel.enabled": _kind("{actor} switched the channel {channel} on", "channel"),
    "channel.disabled": _kind("{actor} switched the channel {channel} off", "channel"),
    "channel.gone": _kind("The channel {channel} was switched off: its address is gone", "channel"),
    "channel.rotated": _kind("{actor} gave the channel {channel} a new secret", "channel"),
    "channel.removed": _kind("{actor} deleted the channel {channel}", "channel"),
    "notices.arguments": _kind("{actor} switched arguments in messages {to}", "to"),
    # what is taken out of the desk
    "export.begun": _kind(
        "{actor} exports {subject} as {format}, {payloads} (narrowed by: {filters})",
        "subject",
        "format",
        "filters",
        "payloads",
    ),
    "export.resumed": _kind(
        "{actor} goes on with an export of {subject}, behind row {rows}", "subject", "rows"
    ),
    "export.finished": _kind("{actor} has {rows} rows of {subject}", "subject", "rows"),
    # the log itself
    "audit.read": _kind("{actor} read the log"),
    "audit.exported": _kind("{actor} took {what} out of the desk", "what"),
    "audit.verify_asked": _kind("{actor} had the log verified from its beginning"),
    # how long things are kept
    "retention.changed": _kind(
        "{actor} set how long things are kept: payloads {payloads} (before: {payloads_before}), "
        "the log {log} (before: {log_before})",
        "payloads",
        "payloads_before",
        "log",
        "log_before",
    ),
    "retention.payloads_deleted": _kind(
        "What {operations} operations carried was deleted, {days} days after they had ended",
        "operations",
        "rows",
        "days",
    ),
    "retention.log_pruned": _kind(
        "{events} events older than {days} days were removed; their seals stay", "events", "days"
    ),
    "legal_hold.begun": _kind("{actor} put {scope} under a legal hold", "scope"),
    "legal_hold.ended": _kind("{actor} ended the legal hold of {scope}", "scope"),
    # people
    "member.added": _kind("{actor} added {person} as {role}", "role", people=("person",)),
    "member.role_changed": _kind(
        "{actor} changed {person} from {before} to {after}", "before", "after", people=("person",)
    ),
    "member.removed": _kind("{actor} removed {person} from the team", people=("person",)),
    "absence.set": _kind(
        "{person} is away from {first} to {last}; {stand_in} stands in ({actor})",
        "first",
        "last",
        people=("person", "stand_in"),
    ),
    "absence.ended": _kind("{person} is not away any more ({actor})", people=("person",)),
    "token.made": _kind(
        "{actor} made the token {token} for {owner}: {scopes}",
        "token",
        "owner",
        "scopes",
        people=("owner",),
    ),
    "token.revoked": _kind(
        "{actor} revoked the token {token} of {owner}", "token", "owner", people=("owner",)
    ),
    "user.deactivated": _kind("{actor} deactivated {person}", people=("person",)),
    "user.reactivated": _kind("{actor} let {person} in again", people=("person",)),
    "user.password_set": _kind("{actor} gave {person} a new password", people=("person",)),
    "user.signed_out": _kind("{actor} signed {person} out everywhere", people=("person",)),
    "user.erased": _kind("{actor} erased {person} and what they wrote", people=("person",)),
    "user.session_ended": _kind("{actor} ended one of their sessions"),
    "user.others_ended": _kind("{actor} ended all of their sessions but one"),
    "user.renamed": _kind("{actor} changed their name"),
    # support staff, who are nobody of the team
    "support.let_in": _kind("{actor} lets support look until {until}", "until"),
    "support.shut_out": _kind("{actor} ended that support may look"),
    "support.listed": _kind("{actor} of support listed {what}", "what"),
    "support.looked": _kind("{actor} of support looked at {what} {row}", "what", "row"),
    "support.staff_added": _kind("{person} is support staff from now on", people=("person",)),
    "support.staff_removed": _kind("{person} is support staff no more", people=("person",)),
}


def labels() -> list[tuple[str, list[tuple[str, str]]]]:
    """The kinds by what they are about, each with its sentence, for choosing one."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for name, kind in KINDS.items():
        words = re.sub(r"\{\w+\}", "…", kind.sentence)
        groups.setdefault(name.partition(".")[0], []).append((name, words))
    return [(group, sorted(kinds, key=itemgetter(1))) for group, kinds in sorted(groups.items())]

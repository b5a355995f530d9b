"""What support may look at, column by column."""

from django.contrib import admin

from approvals.models import Approval, Vote
from mcpdesk.accounts.models import ApiToken, Membership, Team
from mcpdesk.notify.models import Alert, Channel, Message
from mcpdesk.support.reading import Part, ReadOnlyAdmin, TeamFilter, along
from mcpdesk.support.site import SupportSite
from tasks_monitor.models import Attempt, Heartbeat, Hold, InputRequest, Operation, Server

site = SupportSite()


@admin.register(Team, site=site)
class TeamRows(ReadOnlyAdmin):
    team_path = "pk"
    listed = ("name", "slug", "until")
    shown = ("id", "name", "slug", "created_at", "until")
    related = ("support_grant__ends_at",)
    until = along("support_grant__ends_at", "support may look until")


@admin.register(Membership, site=site)
class MembershipRows(ReadOnlyAdmin):
    listed = ("id", "person", "role", "is_active", "last_login")
    shown = ("id", "team", "person", "role", "created_at", "is_active", "last_login")
    list_filter = (TeamFilter, "role")
    related = ("team__name", "user__name", "user__is_active", "user__last_login")
    person = along("user__name", "person")
    is_active = along("user__is_active", "account is open")
    last_login = along("user__last_login", "last signed in")


@admin.register(ApiToken, site=site)
class TokenRows(ReadOnlyAdmin):
    listed = ("id", "person", "created_at", "expires_at", "last_used_at", "revoked_at")
    shown = ("team", *listed)
    list_filter = (TeamFilter, "created_at")
    related = ("team__name", "user__name")
    person = along("user__name", "person (–: a service)")


@admin.register(Server, site=site)
class ServerRows(ReadOnlyAdmin):
    listed = ("id", "name", "era", "is_paused", "failures", "unreachable_since", "last_ok_at")
    shown = (
        "team",
        *listed,
        "protocol_version",
        "tested_at",
        "tools_fetched_at",
        "max_in_flight",
        "call_timeout_s",
        "not_before",
        "not_before_reason",
        "last_problem",
        "last_problem_at",
        "clock_skew_ms",
    )
    list_filter = (TeamFilter, "era", "paused")
    is_paused = along("paused", "paused")
    related = ("team__name",)


@admin.register(Hold, site=site)
class HoldRows(ReadOnlyAdmin):
    listed = ("id", "server", "since", "ended_at")
    shown = ("team", *listed)
    list_filter = (TeamFilter, "since")
    related = ("team__name", "server__name")


class AttemptPart(Part):
    model = Attempt
    verbose_name_plural = "calls"
    shown = ("number", "round", "outcome", "sent_at", "finished_at")


class QuestionPart(Part):
    model = InputRequest
    verbose_name_plural = "questions and answers"
    shown = ("id", "source", "round", "revision", "state", "opened_at", "closed_at", "answer")
    related = ("delivery__state",)
    answer = along("delivery__state", "answer")


@admin.register(Operation, site=site)
class OperationRows(ReadOnlyAdmin):
    """Read by way of its entry in the history, whose indexes lists are made for."""

    team_path = "history__team_id"
    ordering = ("-history__created_at", "-pk")
    listed = ("id", "server", "tool", "state", "own_error", "created_at", "finished_at")
    shown = (
        "team",
        *listed,
        "error_code",
        "is_adopted",
        "state_since",
        "people_ms",
        "server_ms",
        "deadline_at",
        "expected_by",
        "cancel_requested_at",
        "cancel_sent_at",
        "due_at",
        "leased_until",
        "attempts_made",
        "round",
        "polls",
        "unchanged_polls",
        "failed_polls",
        "missing_polls",
        "last_polled_at",
        "last_changed_at",
        "poll_interval_ms",
        "expires_at",
        "payload_deleted_at",
    )
    list_filter = (TeamFilter, "history__state", "history__is_error", "history__created_at")
    related = (
        "team__name",
        "server__name",
        "history__team",
        "history__state_since",
        "history__people_ms",
        "history__server_ms",
    )
    state_since = along("history__state_since", "in this state since")
    people_ms = along("history__people_ms", "waited for people (ms)")
    server_ms = along("history__server_ms", "waited for the server (ms)")
    tool = along("tool_name", "tool")
    own_error = along("is_error", "the tool's own error")
    is_adopted = along("adopted", "adopted")
    inlines = (AttemptPart, QuestionPart)


class VotePart(Part):
    model = Vote
    shown = ("version", "person", "choice", "at")
    related = ("user__name",)
    person = along("user__name", "person")


@admin.register(Approval, site=site)
class ApprovalRows(ReadOnlyAdmin):
    ordering = ("-created_at", "-pk")
    listed = ("id", "kind", "shape", "server", "tool", "state", "created_at", "closed_at")
    shown = (
        "team",
        *listed,
        "audience",
        "with_four_eyes",
        "version",
        "deadline_at",
        "held_s",
        "reminders",
        "escalations",
        "look_at",
        "nobody_since",
        "claimed_until",
        "decision",
        "decided_at",
    )
    list_filter = (TeamFilter, "state", "created_at")
    related = ("team__name", "server__name")
    tool = along("tool_name", "tool")
    with_four_eyes = along("four_eyes", "four eyes")
    inlines = (VotePart,)


@admin.register(Message, site=site)
class MessageRows(ReadOnlyAdmin):
    ordering = ("-finished_at", "-pk")
    listed = ("id", "medium", "topic", "event", "state", "attempts", "created_at", "finished_at")
    shown = ("team", *listed, "next_at", "leased_until", "is_unwanted", "last_error")
    list_filter = (TeamFilter, "state", "medium")
    is_unwanted = along("unwanted", "not wanted any more")
    related = ("team__name",)


@admin.register(Channel, site=site)
class ChannelRows(ReadOnlyAdmin):
    listed = ("id", "name", "kind", "is_on", "last_sent_at", "last_problem_at")
    shown = ("team", *listed, "created_at", "off_because", "last_problem")
    list_filter = (TeamFilter, "kind", "enabled")
    is_on = along("enabled", "on")
    related = ("team__name",)


@admin.register(Alert, site=site)
class AlertRows(ReadOnlyAdmin):
    listed = ("id", "opened_at", "closed_at")
    shown = ("team", *listed)
    list_filter = (TeamFilter, "opened_at")
    related = ("team__name",)


@admin.register(Heartbeat, site=site)
class HeartbeatRows(ReadOnlyAdmin):
    """When each kind of process was last seen: about no team."""

    team_path = ""
    listed = shown = ("process", "at")

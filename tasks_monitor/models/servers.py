"""Servers, the identity we use on each, and the tools they list."""

from django.db import models
from django.db.models import Q

from mcpdesk.accounts.models import Team
from mcpdesk.encryption import EncryptedJSONField


class Era(models.TextChoices):
    """Which generation of the protocol a server speaks (basic/versioning)."""

    UNTESTED = "", "Not tested yet"
    MODERN = "modern", "Modern (2026-07-28 or later)"
    LEGACY = "legacy", "Legacy (initialize handshake)"


class AuthKind(models.TextChoices):
    NONE = "none", "None"
    BEARER = "bearer", "Bearer token"
    HEADERS = "headers", "Custom headers"


class Answerers(models.TextChoices):
    """Whom a server's questions are put to."""

    REQUESTER = "requester", "Whoever starts the operation"
    APPROVERS = "approvers", "The team's approvers"


class Server(models.Model):
    """One MCP endpoint *and the identity we use on it*: a task id means nothing without it."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="servers")
    name = models.SlugField(max_length=40)
    url = models.CharField(max_length=2000)
    identity = models.CharField(max_length=80, blank=True, help_text="Who we are on this server.")
    auth_kind = models.CharField(max_length=8, choices=AuthKind.choices, default=AuthKind.NONE)
    # {"headers": [[name, value], ...]}; never shown again, replaced as a whole
    credential = EncryptedJSONField(null=True)
    allow_private = models.BooleanField(default=False)
    questions_to = models.CharField(
        max_length=16, choices=Answerers.choices, default=Answerers.REQUESTER
    )
    paused = models.BooleanField(default=False)
    created_at = models.DateTimeField()

    # limits
    max_in_flight = models.PositiveSmallIntegerField(default=8)
    call_timeout_s = models.PositiveIntegerField(default=60)

    # what the last test found
    era = models.CharField(max_length=8, choices=Era.choices, default=Era.UNTESTED, blank=True)
    protocol_version = models.CharField(max_length=32, blank=True)
    # {"serverInfo", "capabilities", "instructions", "supportedVersions"}
    discovery = EncryptedJSONField(null=True)
    tested_at = models.DateTimeField(null=True)
    test_problem = models.TextField(blank=True)
    tools_fetched_at = models.DateTimeField(null=True)

    # health, as the engine meets it
    not_before = models.DateTimeField(null=True, help_text="Nothing is sent earlier (UTC).")
    not_before_reason = models.CharField(max_length=16, blank=True)
    unreachable_since = models.DateTimeField(null=True)
    failures = models.PositiveIntegerField(default=0)
    last_ok_at = models.DateTimeField(null=True)
    last_problem = models.CharField(max_length=500, blank=True)
    # null: there is none, or it is from before its time was kept
    last_problem_at = models.DateTimeField(null=True)
    clock_skew_ms = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "name"], name="server_name_per_team"),
            # engine.claim: a server with no slot would never be claimed, silently
            models.CheckConstraint(condition=Q(max_in_flight__gte=1), name="server_has_a_slot"),
        ]

    def __str__(self) -> str:
        return self.name


class Tool(models.Model):
    """One tool as the server described it when its list was last read."""

    server = models.ForeignKey(Server, on_delete=models.CASCADE, related_name="tools")
    name = models.CharField(max_length=256)
    definition = EncryptedJSONField()
    # why the tool is left out (InvalidToolHeader and such); empty: it can be called
    problem = models.CharField(max_length=500, blank=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["server", "name"], name="tool_name_per_server")
        ]

    def __str__(self) -> str:
        return self.name

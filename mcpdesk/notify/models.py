"""The outbox and where it leads: messages, team channels, what people want, browsers, alerts.

A message is written in the transaction of the change it tells of, and sent later by whoever claims
it. Addresses, secrets and texts are encrypted: an incoming webhook's address lets its holder write.
"""

import uuid
from datetime import time

from django.conf import settings
from django.db import models
from django.db.models import Q

from mcpdesk.accounts.models import Team
from mcpdesk.encryption import EncryptedJSONField


class Topic(models.TextChoices):
    """What a message is about; people and channels choose which of these they want."""

    ASKED = "asked", "Something is put to me"
    REMINDER = "reminder", "A reminder of what waits for me"
    ESCALATION = "escalation", "Something is put to me because others did not decide"
    COMMENT = "comment", "A comment on what I started, or that names me"
    HANDED = "handed", "Somebody hands me an item"
    ALERT = "alert", "Alerts for operators and admins"
    ENDED = "ended", "What I started ended, or cannot go on without somebody"


class ChannelKind(models.TextChoices):
    EMAIL = "email", "E-mail addresses"
    WEBHOOK = "webhook", "Signed webhook"
    SLACK = "slack", "Slack"
    TEAMS = "teams", "Microsoft Teams"


class Medium(models.TextChoices):
    """How one message travels."""

    EMAIL = "email", "e-mail"
    PUSH = "push", "browser"
    WEBHOOK = "webhook", "webhook"
    SLACK = "slack", "Slack"
    TEAMS = "teams", "Teams"


class Timing(models.TextChoices):
    AT_ONCE = "at_once", "At once"
    HOURLY = "hourly", "Together, every hour"
    DAILY = "daily", "Together, once a day"


class MessageState(models.TextChoices):
    WAITING = "waiting", "Waits"
    SENDING = "sending", "Being sent"
    SENT = "sent", "Sent"
    FAILED = "failed", "Not sent yet, tried again"
    DROPPED = "dropped", "Not needed any more"
    DEAD = "dead", "Given up"


#: States from which a message may still leave.
TO_SEND = (MessageState.WAITING, MessageState.FAILED)


#: One message for each call: only for whoever asks for it.
ON_REQUEST = (Topic.ENDED,)


def usual_topics() -> list[str]:
    """What those are told of who never said."""
    return [topic.value for topic in Topic if topic not in ON_REQUEST]


class Channel(models.Model):
    """Where a team as a whole is told, whoever of it is at work."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="channels")
    kind = models.CharField(max_length=8, choices=ChannelKind.choices)
    name = models.CharField(max_length=60)
    # {"url": ...} or {"addresses": [...]}; never shown again, replaced as a whole
    target = EncryptedJSONField()
    # the origin of the address, or how many addresses: what may be shown of the target
    shown_as = models.CharField(max_length=300)
    # Standard Webhooks: {"current": "whsec_...", "previous"?: ..., "previous_until"?: ISO 8601,
    # "older"?: [[secret, until], ...]}
    secret = EncryptedJSONField(null=True)
    topics = models.JSONField(default=usual_topics)
    allow_private = models.BooleanField(default=False)
    enabled = models.BooleanField(default=True)
    # why the desk itself switched it off, in our words
    off_because = models.CharField(max_length=300, blank=True)
    last_problem = models.CharField(max_length=300, blank=True)
    last_problem_at = models.DateTimeField(null=True)
    last_sent_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["team", "name"], name="channel_name_per_team"),
        ]

    def __str__(self) -> str:
        return self.name


class TeamNotices(models.Model):
    """What a team allows in messages; without a row: nothing of it."""

    team = models.OneToOneField(Team, on_delete=models.CASCADE, related_name="notices")
    # arguments of calls may leave the desk in messages
    with_arguments = models.BooleanField(default=False)

    def __str__(self) -> str:
        return f"notices of {self.team}"


class Preference(models.Model):
    """How one person wants to be told; without a row: the usual, at once, by every way there is.

    Times are in the person's own zone.
    """

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notices"
    )
    topics = models.JSONField(default=usual_topics)
    email = models.BooleanField(default=True)
    push = models.BooleanField(default=True)
    timing = models.CharField(max_length=8, choices=Timing.choices, default=Timing.AT_ONCE)
    daily_at = models.TimeField(default=time(8, 0))
    quiet_from = models.TimeField(null=True)
    quiet_to = models.TimeField(null=True)

    class Meta:
        constraints = [
            # quiet.at_once: a beginning without an end would never let anything through
            models.CheckConstraint(
                condition=Q(quiet_from__isnull=True, quiet_to__isnull=True)
                | Q(quiet_from__isnull=False, quiet_to__isnull=False),
                name="quiet_hours_are_whole",
            ),
        ]

    def __str__(self) -> str:
        return f"notices for {self.user}"


class PushKey(models.Model):
    """The desk's own key pair for Web Push (VAPID, RFC 8292); one row, made once."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    # the private key as PEM
    private_key = EncryptedJSONField()
    # uncompressed point, URL-safe base64 without padding: what browsers subscribe with
    public_key = models.CharField(max_length=100)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="one_push_key")]

    def __str__(self) -> str:
        return "the key for Web Push"


class PushSubscription(models.Model):
    """One browser of one person (PushSubscription of the Push API)."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="push_subscriptions"
    )
    # SHA-256 of the endpoint: a browser belongs to whoever subscribed with it last
    endpoint_hash = models.CharField(max_length=64, unique=True)
    # {"endpoint", "p256dh", "auth"}
    target = EncryptedJSONField()
    # "Firefox on Linux", as the browser called itself
    browser = models.CharField(max_length=80)
    created_at = models.DateTimeField()
    last_sent_at = models.DateTimeField(null=True)
    # set when the push service says it is gone; the person sees why
    off_at = models.DateTimeField(null=True)
    last_problem = models.CharField(max_length=300, blank=True)

    def __str__(self) -> str:
        return f"{self.browser} of {self.user}"


class Message(models.Model):
    """One message to one recipient by one way. Its id is what receivers know it by."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+")
    medium = models.CharField(max_length=8, choices=Medium.choices)
    # a person, or a channel of the team; `subscription` names the browser of a push
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+"
    )
    channel = models.ForeignKey(
        Channel, null=True, on_delete=models.CASCADE, related_name="messages"
    )
    subscription = models.ForeignKey(
        PushSubscription, null=True, on_delete=models.CASCADE, related_name="+"
    )
    # one at a time goes to each target: "c7", "u3", "p9"
    target = models.CharField(max_length=24)
    topic = models.CharField(max_length=10, choices=Topic.choices)
    # "approval.opened", "approval.closed", ...: what a webhook is told happened
    event = models.CharField(max_length=24)
    # what it is about: the approval's id, or the alert's matter
    matter = models.CharField(max_length=120)
    approval_id = models.UUIDField(null=True)
    operation_id = models.UUIDField(null=True)
    # matter, event, step, recipient: the same is never told twice
    once = models.CharField(max_length=250, unique=True)
    # outbox.Notice as JSON
    content = EncryptedJSONField()
    # it waited for the hour of a digest; whatever mail of a person is due goes out together
    digest = models.BooleanField(default=False)

    state = models.CharField(
        max_length=8, choices=MessageState.choices, default=MessageState.WAITING
    )
    created_at = models.DateTimeField()
    # when it goes at the earliest (UTC): the wait of 15 s, quiet hours, a digest, a retry
    next_at = models.DateTimeField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    lease_token = models.UUIDField(null=True)
    leased_until = models.DateTimeField(null=True)
    # the matter closed while it was being sent: it is not tried again
    unwanted = models.BooleanField(default=False)
    last_error = models.CharField(max_length=300, blank=True)
    # what the other side calls it, where it says so
    provider_id = models.CharField(max_length=200, blank=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["created_at", "pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(user__isnull=False, channel__isnull=True)
                | Q(user__isnull=True, channel__isnull=False),
                name="message_has_one_recipient",
            ),
            # claim: what may leave has a time at which it does
            models.CheckConstraint(
                condition=~Q(state__in=["waiting", "failed", "sending"]) | Q(next_at__isnull=False),
                name="message_to_send_has_a_time",
            ),
        ]
        indexes = [
            # claim.claim: what is due, the longest due first
            models.Index(
                fields=["next_at"],
                condition=Q(state__in=["waiting", "failed", "sending"]),
                name="message_due",
            ),
            # claim.claim: one at a time to each target
            models.Index(fields=["target"], condition=Q(state="sending"), name="message_leased"),
            # outbox.drop, outbox.follow_up, selectors.of_approval
            models.Index(fields=["matter"], name="message_matter"),
            # selectors.dead_letters
            models.Index(fields=["team", "-finished_at"], name="message_finished"),
            # dead.look: whom messages could not be brought to
            models.Index(fields=["team", "target"], condition=Q(state="dead"), name="message_dead"),
        ]

    def __str__(self) -> str:
        return f"{self.event} by {self.medium}"


class Alert(models.Model):
    """What operators and admins have to look at; one is open for each matter of a team."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="alerts")
    matter = models.CharField(max_length=120)
    sentence = models.CharField(max_length=300)
    # where to look, a path of the desk
    path = models.CharField(max_length=200, blank=True)
    opened_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True)
    # who saw to it; null on a closed one: its matter came to an end
    closed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )

    class Meta:
        ordering = ["-opened_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["team", "matter"],
                condition=Q(closed_at__isnull=True),
                name="one_open_alert_per_matter",
            ),
        ]
        indexes = [
            # selectors.past_alerts
            models.Index(
                fields=["team", "-closed_at", "-id"],
                condition=Q(closed_at__isnull=False),
                name="alert_closed",
            ),
            # alerts.is_known
            models.Index(fields=["team", "matter", "-opened_at"], name="alert_by_matter"),
        ]

    def __str__(self) -> str:
        return self.sentence

"""People, teams, and the one role each person has in a team."""

import uuid
import zoneinfo
from collections.abc import Iterator
from typing import Any, ClassVar

from django.contrib.auth.models import AbstractUser, BaseUserManager
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.functions import Lower

from mcpdesk.accounts import triggers
from mcpdesk.accounts.mailbox import MAILBOX


def validate_time_zone(value: str) -> None:
    if value not in zoneinfo.available_timezones():
        raise ValidationError(f"{value} is not a time zone name such as Europe/Warsaw.")


class UserManager(BaseUserManager["User"]):
    """Makes users that sign in with an e-mail address instead of a user name."""

    def create_user(self, email: str, password: str | None = None, **extra: Any) -> "User":
        if not email:
            raise ValueError("A user needs an e-mail address.")
        user = self.model(email=email.strip().lower(), **extra)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **extra: Any) -> "User":
        """For Django's own command; it opens nothing, and support staff are no superusers."""
        return self.create_user(email, password, is_superuser=True, **extra)

    def get_by_natural_key(self, username: str | None) -> "User":
        return self.get(email__iexact=username)


class User(AbstractUser):
    """A person. People who leave are deactivated, never deleted: their votes keep the name."""

    username = None  # type: ignore[assignment]
    first_name = None  # type: ignore[assignment]
    last_name = None  # type: ignore[assignment]
    email = models.EmailField("e-mail address", unique=True)
    name = models.CharField("name", max_length=120)
    time_zone = models.CharField(max_length=64, default="UTC", validators=[validate_time_zone])
    # what the log's seals hold of this person's name is a hash with this salt: when the person is
    # erased it goes (null), and what is left in the log names nobody
    log_salt = models.UUIDField(null=True, default=uuid.uuid4, editable=False)
    # how often they were signed out everywhere: it is part of what a session is checked with
    sign_outs = models.PositiveIntegerField(default=0, editable=False)

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = ["name"]
    objects: ClassVar[UserManager] = UserManager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            # Two spellings of one address are one person: sign-in looks it up without case.
            models.UniqueConstraint(Lower("email"), name="one_user_per_email"),
            # one person with two accounts would be two in a quorum
            models.UniqueConstraint(
                MAILBOX, condition=models.Q(is_active=True), name="one_active_user_per_mailbox"
            ),
        ]
        triggers = triggers.USER_TRIGGERS

    def __str__(self) -> str:
        return self.name or self.email

    def get_session_auth_hash(self) -> str:
        """What a session has to hold to be this person's: another one after each sign-out."""
        return self._since_last_sign_out(super().get_session_auth_hash())

    def get_session_auth_fallback_hash(self) -> Iterator[str]:
        """The same by keys of before (SECRET_KEY_FALLBACKS)."""
        return map(self._since_last_sign_out, super().get_session_auth_fallback_hash())

    def _since_last_sign_out(self, of_password: str) -> str:
        return f"{of_password}.{self.sign_outs}" if self.sign_outs else of_password

    def get_full_name(self) -> str:
        return str(self)

    def get_short_name(self) -> str:
        return str(self)


class Team(models.Model):
    """Owner of servers, operations, approvals and events."""

    name = models.CharField(max_length=80)
    slug = models.SlugField(max_length=40, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name


class Role(models.TextChoices):
    VIEWER = "viewer", "Viewer"
    APPROVER = "approver", "Approver"
    OPERATOR = "operator", "Operator"
    AUDITOR = "auditor", "Auditor"
    ADMIN = "admin", "Admin"


class Membership(models.Model):
    """One person's role in one team."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="memberships")
    role = models.CharField(max_length=16, choices=Role.choices)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            # A person counts once in a team: access.member_in() reads one row.
            models.UniqueConstraint(fields=["team", "user"], name="one_membership_per_team"),
            models.CheckConstraint(condition=models.Q(role__in=Role.values), name="role_is_known"),
        ]
        triggers = triggers.MEMBERSHIP_TRIGGERS

    def __str__(self) -> str:
        return f"{self.user} ({self.get_role_display()}) in {self.team}"


class Absence(models.Model):
    """A person is away from a team, and somebody of the team stands in for them."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="absences")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="absences")
    stand_in = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()

    class Meta:
        ordering = ["starts_at"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(ends_at__gt=models.F("starts_at")), name="absence_has_a_length"
            ),
            models.CheckConstraint(
                condition=~models.Q(user=models.F("stand_in")), name="stand_in_is_somebody_else"
            ),
        ]
        indexes = [
            # access.put_to: whom somebody stands in for now
            models.Index(fields=["team", "stand_in", "ends_at"], name="absence_stand_in"),
        ]
        triggers = triggers.ABSENCE_TRIGGERS

    def __str__(self) -> str:
        return f"{self.user} is away until {self.ends_at:%Y-%m-%d}"


class AbsenceSpan(models.Model):
    """What an absence said, and from when until when it said so: days and stand-ins change, and
    absences are taken back.

    Kept by a trigger on Absence. It was in force at a moment that lies in both spans.
    """

    # of a row that may be gone
    absence_id = models.BigIntegerField()
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="absence_spans")
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="absence_spans")
    stand_in = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    said_from = models.DateTimeField()
    # null: until now
    said_until = models.DateTimeField(null=True)

    class Meta:
        ordering = ["said_from", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["absence_id"],
                condition=models.Q(said_until__isnull=True),
                name="one_word_of_an_absence",
            ),
        ]
        triggers = triggers.ABSENCE_SPAN_TRIGGERS

    def __str__(self) -> str:
        return f"{self.user} until {self.ends_at:%Y-%m-%d}, as of {self.said_from:%Y-%m-%d}"


class CacheEntry(models.Model):
    """One value of the cache that all web processes share (shared_cache)."""

    # SHA-256, hex
    key = models.CharField(max_length=64, primary_key=True)
    value = models.JSONField()
    ends_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return self.key


class RoleSpan(models.Model):
    """Since when, and until when, a person had a role in a team: who could do what on a given day.

    Kept by triggers on Membership and on User.is_active, beside the log, which a team may keep for
    a shorter time. Where nobody could sign in there is no span.
    """

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="role_spans")
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="role_spans")
    role = models.CharField(max_length=16, choices=Role.choices)
    starts_at = models.DateTimeField()
    # null: until now
    ends_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["starts_at", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["team", "user"],
                condition=models.Q(ends_at__isnull=True),
                name="one_role_at_a_time",
            ),
        ]
        triggers = triggers.ROLE_SPAN_TRIGGERS

    def __str__(self) -> str:
        return f"{self.user}: {self.get_role_display()} since {self.starts_at:%Y-%m-%d}"


class ApiToken(models.Model):
    """A key to the API: of one person in one team, or of a service, which is nobody.

    Only a hash of it is kept; the token itself is shown once, when it is made.
    """

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="api_tokens")
    # null: a service, which never approves
    user = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="api_tokens")
    name = models.CharField(max_length=60)
    scopes = models.JSONField(default=list)
    # the first characters, by which people tell tokens apart
    prefix = models.CharField(max_length=16)
    # SHA-256 (hex) of the whole token, which is random: nothing is gained by a slow hash
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    # null: it has no end
    expires_at = models.DateTimeField(null=True)
    # to the minute: not every request writes
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    revoked_by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            # two services of one name could not be told apart in the log
            models.UniqueConstraint(
                fields=["team", "name"],
                condition=models.Q(user__isnull=True, revoked_at__isnull=True),
                name="service_name_per_team",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"


class SupportGrant(models.Model):
    """A team lets support staff look, until then; without a row, or later, they see nothing of it.

    One row for a team: who let them in before stands in the log.
    """

    team = models.OneToOneField(Team, on_delete=models.CASCADE, related_name="support_grant")
    granted_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    granted_at = models.DateTimeField()
    ends_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(ends_at__gt=models.F("granted_at")), name="support_grant_ends"
            ),
        ]

    def __str__(self) -> str:
        return f"support may look at {self.team} until {self.ends_at:%Y-%m-%d %H:%M}"

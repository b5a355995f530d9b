"""People, teams, and the one role each person has in a team."""

import zoneinfo
from typing import Any, ClassVar

from django.contrib.auth.models import AbstractUser, BaseUserManager
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.functions import Lower

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
        return self.create_user(email, password, is_staff=True, is_superuser=True, **extra)

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

    def __str__(self) -> str:
        return self.name or self.email

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
            # A person counts once in a team: access.member_for() reads one row.
            models.UniqueConstraint(fields=["team", "user"], name="one_membership_per_team"),
            models.CheckConstraint(condition=models.Q(role__in=Role.values), name="role_is_known"),
        ]

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

    def __str__(self) -> str:
        return f"{self.user} is away until {self.ends_at:%Y-%m-%d}"


class CacheEntry(models.Model):
    """One value of the cache that all web processes share (shared_cache)."""

    # SHA-256, hex
    key = models.CharField(max_length=64, primary_key=True)
    value = models.JSONField()
    ends_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return self.key

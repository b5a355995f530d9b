"""The rules of a team, and what they were before."""

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Func, Q

from mcpdesk.accounts.models import Team
from mcpdesk.encryption import EncryptedJSONField


class ClockTimestamp(Func):
    """The time of the database's clock, not of the transaction's begin."""

    function = "clock_timestamp"
    arity = 0
    output_field = models.DateTimeField()


class Effect(models.TextChoices):
    """What a rule of a policy gives (policy.Effect)."""

    ALLOW = "allow", "Allow: it runs at once"
    ASK = "ask", "Ask: people decide first"
    DISABLED = "disabled", "Disabled: it is refused"


class PolicyRule(models.Model):
    """One rule of a team's policy. Rules are read in order, and the first that matches decides."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="policy_rules")
    position = models.PositiveIntegerField()
    name = models.CharField(max_length=80)
    enabled = models.BooleanField(default=True)
    effect = models.CharField(max_length=8, choices=Effect.choices)
    # as policy.read_rule() takes them; conditions can hold values that are nobody's business
    match = EncryptedJSONField()
    ask = models.JSONField()
    # who answers what the server asks during such a call, as policy.read_ask() takes it; null: the
    # server's setting decides
    questions = models.JSONField(null=True)
    # what an operator decides about such a call that broke takes a second person
    repairs_need_two = models.BooleanField(default=False)
    # goes up with each change: an edit of what somebody else changed meanwhile is refused
    version = models.PositiveIntegerField(default=1)
    changed_at = models.DateTimeField()

    class Meta:
        ordering = ["position"]
        constraints = [
            # policies.rules_of: an order without ties; moving swaps two within a transaction
            models.UniqueConstraint(
                fields=["team", "position"],
                name="rule_has_its_place",
                deferrable=models.Deferrable.DEFERRED,
            ),
            # the log and the approvals name a rule by its name
            models.UniqueConstraint(fields=["team", "name"], name="rule_name_per_team"),
            # a word that nobody knows must not come to be read as a permission
            models.CheckConstraint(
                condition=Q(effect__in=Effect.values), name="rule_effect_is_known"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def as_rule(self) -> dict[str, Any]:
        """The whole rule, as policy.gate() takes it."""
        match = self.match if isinstance(self.match, dict) else {"unreadable": True}
        rest = {
            "ask": self.ask,
            "questions": self.questions,
            "repairs_need_two": self.repairs_need_two,
        }
        return {**match, "name": self.name, "effect": self.effect, **rest}


class PolicyVersion(models.Model):
    """The whole of a team's policy as it was from a moment on: the rules that counted, in order."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="policy_versions")
    # of the database, as in the history of roles: later for whoever waited for the lock
    at = models.DateTimeField(db_default=ClockTimestamp())
    # a list of rules, each as policy.read_rule() takes it
    rules = EncryptedJSONField()
    # null: what the upgrade found
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )

    class Meta:
        ordering = ["pk"]
        indexes = [models.Index(fields=["team", "at"], name="policy_version_at")]

    def __str__(self) -> str:
        return f"The policy of {self.team} from {self.at:%Y-%m-%d} on"

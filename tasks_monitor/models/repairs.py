"""What people decided about operations that the desk cannot follow."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from mcpdesk.encryption import EncryptedJSONField
from tasks_monitor.models.operations import Operation


class RepairState(models.TextChoices):
    PROPOSED = "proposed", "Waits for a second person"
    DONE = "done", "Carried out"
    REFUSED = "refused", "Refused by a second person"
    WITHDRAWN = "withdrawn", "Withdrawn"


class Repair(models.Model):
    """What an operator decided about an operation that the desk cannot follow (reconcile).

    Where the policy asks for four eyes, it is proposed first and a second person carries it out.
    """

    operation = models.ForeignKey(Operation, on_delete=models.CASCADE, related_name="repairs")
    choice = models.CharField(max_length=16)
    # {"reason", "evidence", "task_id", "refused_because"?}
    content = EncryptedJSONField()
    state = models.CharField(max_length=9, choices=RepairState.choices)
    proposed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    proposed_at = models.DateTimeField()
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    decided_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["proposed_at", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["operation"],
                condition=Q(state="proposed"),
                name="one_repair_proposed_at_a_time",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.choice} for {self.operation_id}"

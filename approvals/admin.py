"""Django's admin may look at items and never change one: people decide in the inbox."""

from django.contrib import admin
from django.http import HttpRequest

from approvals.models import Approval


@admin.register(Approval)
class ApprovalAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Ids, states and times; no question and no answer."""

    list_display = ("id", "team", "shape", "state", "audience", "created_at", "closed_at")
    list_filter = ("state", "shape", "team")
    list_select_related = ("team",)
    fields = (
        *list_display,
        "operation",
        "version",
        "deadline_at",
        "decision",
        "decided_at",
        "decided_by",
    )

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Approval | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Approval | None = None) -> bool:
        return False

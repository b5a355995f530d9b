from django.apps import AppConfig


class AuditConfig(AppConfig):
    name = "mcpdesk.audit"
    label = "audit"
    verbose_name = "Audit log"

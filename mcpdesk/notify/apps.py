from django.apps import AppConfig
from django.db.models.signals import post_migrate


class NotifyConfig(AppConfig):
    name = "mcpdesk.notify"
    label = "notify"
    verbose_name = "Notifications"

    def ready(self) -> None:
        from mcpdesk.notify import receivers  # noqa: F401 - connects the log's signal
        from mcpdesk.notify.vapid import make_key  # models are there from here on

        post_migrate.connect(make_key, sender=self, dispatch_uid="notify.make_key")

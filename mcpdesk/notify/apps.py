from django.apps import AppConfig


class NotifyConfig(AppConfig):
    name = "mcpdesk.notify"
    label = "notify"
    verbose_name = "Notifications"

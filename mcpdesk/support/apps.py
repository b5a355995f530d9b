from django.apps import AppConfig


class SupportConfig(AppConfig):
    name = "mcpdesk.support"
    label = "support"

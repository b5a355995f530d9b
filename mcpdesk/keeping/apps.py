from django.apps import AppConfig


class KeepingConfig(AppConfig):
    name = "mcpdesk.keeping"
    label = "keeping"

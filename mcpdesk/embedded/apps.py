from django.apps import AppConfig


class EmbeddedConfig(AppConfig):
    name = "mcpdesk.embedded"
    label = "embedded"
    verbose_name = "Running the desk"

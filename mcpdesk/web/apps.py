from django.apps import AppConfig


class WebConfig(AppConfig):
    name = "mcpdesk.web"
    label = "web"
    verbose_name = "Pages"

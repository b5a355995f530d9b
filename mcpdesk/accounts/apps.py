from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "mcpdesk.accounts"
    label = "accounts"
    verbose_name = "People and teams"

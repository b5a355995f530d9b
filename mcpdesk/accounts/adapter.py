"""Sign-in rules for django-allauth."""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.mfa.adapter import DefaultMFAAdapter
from django.conf import settings
from django.http import HttpRequest

from mcpdesk.encryption import box


def sends_mail() -> bool:
    """Whether a mail server is configured (EMAIL_URL); the default backend only prints."""
    return not settings.EMAIL_BACKEND.endswith(".console.EmailBackend")


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Accounts are made by admins: nobody signs up by themselves."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Without a mail server nothing is sent: a printed reset link would open the account."""
        if sends_mail():
            super().send_mail(template_prefix, email, context)


class MFAAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """Keeps the secrets of two-factor sign-in encrypted with the desk's key list."""

    def encrypt(self, text: str) -> str:
        return box().encrypt(text.encode()).decode("ascii")

    def decrypt(self, encrypted_text: str) -> str:
        """Raises cryptography.fernet.InvalidToken when no configured key opens it."""
        return box().decrypt(encrypted_text.encode("ascii")).decode()

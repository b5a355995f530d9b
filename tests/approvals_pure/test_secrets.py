import pytest

from approvals.schema_form import fields, initial
from tests.approvals_pure.asking import shown

TEXT = {"type": "string"}


def _is_secret(name: str, **part: object) -> bool:
    found = fields({"type": "object", "properties": {name: TEXT | part}})
    assert isinstance(found, tuple)
    return found[0].secret_like


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "userPassword",
        "db_passwd",
        "API_KEY",
        "apiKey",
        "token",
        "access-token",
        "pin",
        "cardNumber",
        "cvv",
        "client_secret",
        "seed phrase",
        "otp",
        "hasło",
        "contraseña",
        "пароль",
        "Passwort",
        "mot_de_passe",
        "密码",
        "パスワード",
        "p\u0430ssword",
        "pass\u200bword",
        "2fa_code",
        "sessionCookie",
        "connection_string",
        "bearer",
        "jwt",
    ],
)
def test_a_field_named_like_a_secret_is_masked(name: str) -> None:
    assert _is_secret(name)
    assert _is_secret("x", title=name)


@pytest.mark.parametrize(
    "name",
    [
        "name",
        "opinion",
        "shipping",
        "max_tokens",
        "token_count",
        "tokens",
        "key",
        "issue_key",
        "passenger",
        "compass",
        "secretary",
        "pinned",
        "author",
    ],
)
def test_a_field_with_an_innocent_name_is_not_masked(name: str) -> None:
    assert not _is_secret(name)


def test_the_password_format_and_write_only_are_secrets() -> None:
    assert _is_secret("x", format="password")
    assert _is_secret("x", writeOnly=True)


def test_a_box_or_a_choice_is_never_a_secret() -> None:
    assert not shown({"type": "boolean", "title": "Reset password"}).secret_like
    assert not shown({"enum": ["a"], "title": "Token"}).secret_like


def test_nothing_is_filled_in_for_a_secret() -> None:
    field = shown({"type": "string", "title": "Password", "default": "hunter2"})
    assert initial([field]) == {}

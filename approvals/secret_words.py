"""Words that ask for a secret, in the languages people are asked in most often."""

import re
from collections.abc import Iterable
from typing import Final

from approvals.lookalikes import folded

# Never anything but a secret, wherever they stand.
_CERTAIN: Final = (
    "password",
    "passwords",
    "passwd",
    "pwd",
    "passphrase",
    "passcode",
    "pass phrase",
    "api key",
    "api keys",
    "apikey",
    "api token",
    "access key",
    "private key",
    "privatekey",
    "secret key",
    "secretkey",
    "ssh key",
    "signing key",
    "encryption key",
    "recovery key",
    "recovery code",
    "backup code",
    "client secret",
    "access token",
    "accesstoken",
    "refresh token",
    "auth token",
    "authtoken",
    "bearer token",
    "session token",
    "personal access token",
    "seed phrase",
    "seed words",
    "recovery phrase",
    "mnemonic phrase",
    "card number",
    "cardnumber",
    "credit card",
    "debit card",
    "security code",
    "one time code",
    "verification code",
    "authentication code",
    "authenticator",
    "2fa code",
    "mfa code",
    "digit code",
    "session cookie",
    "connection string",
    "authorization header",
    "id rsa",
    "pin code",
    "social security number",
    "passwort",
    "kennwort",
    "kreditkarte",
    "kreditkartennummer",
    "geheimzahl",
    "mot de passe",
    "code secret",
    "carte bancaire",
    "contraseña",
    "clave de acceso",
    "tarjeta de credito",
    "senha",
    "palavra passe",
    "parola d ordine",
    "wachtwoord",
    "lösenord",
    "passord",
    "adgangskode",
    "salasana",
    "hasło",
    "hasła",
    "numer karty",
    "heslo",
    "jelszó",
    "şifre",
    "parola",
    "пароль",
    "пароля",
)
# Other things too, unless a field is named by them or the text asks for one.
_LIKELY: Final = (
    "secret",
    "token",
    "pin",
    "otp",
    "totp",
    "cvv",
    "cvc",
    "ssn",
    "mnemonic",
    "credential",
    "credentials",
    "bearer",
    "jwt",
    "iban",
    "токен",
    "geheimnis",
)
# Written without spaces between words.
_UNSPACED: Final = ("密码", "密碼", "口令", "パスワード", "暗証番号", "비밀번호", "令牌", "密钥")

_ASKS: Final = re.compile(
    r"\b(?:enter|type|paste|provide|give|send|share|supply|submit|tell|input|need|needs|confirm"
    r"|fill in|what is|your|eingeben|saisir|introduzca|podaj|wpisz)\b"
)
# Counted tokens are not secrets: a limit of tokens, the tokens of a model.
_COUNTED: Final = r"(?<!max )(?<!min )(?<!maximum )(?<!per )"
_NOT_COUNTS: Final = r"(?! (?:count|counts|limit|limits|budget|usage))"
_GAPS: Final = re.compile(r"[\W_]+")


def _spaced(text: str) -> str:
    return _GAPS.sub(" ", folded(text))


def _phrases(words: Iterable[str]) -> re.Pattern[str]:
    listed = "|".join(re.escape(_spaced(word)) for word in words)
    return re.compile(rf"{_COUNTED}\b(?:{listed})\b{_NOT_COUNTS}")


_CERTAIN_RE: Final = _phrases(_CERTAIN)
_LIKELY_RE: Final = _phrases(_LIKELY)
_UNSPACED_RE: Final = re.compile("|".join(folded(word) for word in _UNSPACED))


def names_a_secret(label: str) -> bool:
    """Whether a field with this name or title asks for a secret."""
    text = _spaced(label)
    return bool(_CERTAIN_RE.search(text) or _LIKELY_RE.search(text) or _UNSPACED_RE.search(text))


def asks_for_secret(text: str) -> bool:
    """Whether a message asks the reader for a secret, or speaks of a password or the like."""
    text = _spaced(text)
    if _CERTAIN_RE.search(text) or _UNSPACED_RE.search(text):
        return True
    return bool(_LIKELY_RE.search(text) and _ASKS.search(text))

"""The product's settings, with keys for tests and a test's speed of hashing passwords."""

import os

os.environ.setdefault("MCPDESK_SECRET_KEY", "tests-only-" + "k" * 50)
os.environ.setdefault("MCPDESK_ENCRYPTION_KEYS", "dGVzdHMtb25seS10ZXN0cy1vbmx5LXRlc3RzLW9ubHk=")
os.environ.setdefault("MCPDESK_SEAL_KEY", "dGVzdHMtb25seS10ZXN0cy1vbmx5LXRlc3RzLW9ubHk=")
# the servers of the tests are on this machine
os.environ.setdefault("MCPDESK_ALLOW_PRIVATE_SERVERS", "true")
# what is due is claimed at once, however little it is
os.environ.setdefault("MCPDESK_GATHER_S", "0")

from mcpdesk.settings import *  # noqa: F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
# a client of the tests makes all middleware anew: static files are looked up when asked for, not
# gathered each time
WHITENOISE_AUTOREFRESH = True

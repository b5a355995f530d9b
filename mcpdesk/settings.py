"""Settings, all from the environment (docs/configuration.md has the table).

What is missing falls back to the embedded default (mcpdesk.embedded): one data folder, one
PostgreSQL, nothing else to install. What is wrong is refused by mcpdesk/checks.py with a way out.
"""

from pathlib import Path
from urllib.parse import urlsplit

import environ
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from mcpdesk import layers
from mcpdesk.embedded import locations
from mcpdesk.embedded.keys import read_keys, read_seal_keys

env = environ.Env()
_NO_SECRET_KEY = "not set " + "-" * 50

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = locations.data_dir()

DEBUG = env.bool("MCPDESK_DEBUG", default=False)
DEMO = env.bool("MCPDESK_DEMO", default=False)
EMBEDDED = "DATABASE_URL" not in env


# Only the embedded default generates keys; a desk on a database of its own must be given its keys.
_GENERATED = read_keys(DATA_DIR) if EMBEDDED else None

# Settings import without keys; checks.py refuses to start without, and says what to do.
SECRET_KEY = env.str(
    "MCPDESK_SECRET_KEY", default=_GENERATED.secret_key if _GENERATED else _NO_SECRET_KEY
)
SECRET_KEY_IS_SET = SECRET_KEY != _NO_SECRET_KEY
# Fernet keys: the first encrypts, all decrypt
ENCRYPTION_KEYS = env.list(
    "MCPDESK_ENCRYPTION_KEYS", default=list(_GENERATED.encryption_keys) if _GENERATED else []
)
# Ed25519 keys of the log's seals (mcpdesk.audit.signing): the one that signs, and public keys of
# before, whose seals are still believed
_SEALS = read_seal_keys(DATA_DIR) if EMBEDDED else None
SEAL_KEY = env.str("MCPDESK_SEAL_KEY", default=_SEALS.private if _SEALS else "")
SEAL_PUBLIC_KEYS = env.list(
    "MCPDESK_SEAL_PUBLIC_KEYS", default=list(_SEALS.public) if _SEALS else []
)

# The address people use, for links, cookies and host checks
PUBLIC_URL = env.str("MCPDESK_URL", default=locations.local_url()).rstrip("/")
BEHIND_TLS = PUBLIC_URL.startswith("https://")
ALLOWED_HOSTS = env.list("MCPDESK_HOSTS", default=["127.0.0.1", "localhost", "[::1]"])
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL] if BEHIND_TLS else []

INSTALLED_APPS = [
    # our `test` command runs the whole suite, so it comes before Django's
    "mcpdesk.embedded",
    "mcpdesk",
    # no more than its pages: nothing registers itself (mcpdesk.support)
    "django.contrib.admin.apps.SimpleAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.usersessions",
    "allauth.socialaccount",
    "channels",
    "csp",
    "django_htmx",
    "django_filters",
    "django_structlog",
    "pgtrigger",
    "template_partials",
    "mcpdesk.accounts",
    "mcpdesk.audit",
    "mcpdesk.notify",
    "tasks_monitor",
    "approvals",
    "mcpdesk.keeping",
    "mcpdesk.web",
    "mcpdesk.support",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "mcpdesk.api.middleware.ApiMiddleware",
    "mcpdesk.web.middleware.NeverStoredMiddleware",
    "mcpdesk.web.middleware.PlainAddressMiddleware",
    "mcpdesk.web.middleware.DatabaseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_structlog.middlewares.RequestMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "mcpdesk.ops.middleware.TraceContextMiddleware",
    "mcpdesk.web.middleware.MemberMiddleware",
    "mcpdesk.web.middleware.LostKeyMiddleware",
]

ROOT_URLCONF = "mcpdesk.urls"
ASGI_APPLICATION = "mcpdesk.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "mcpdesk.web.context.shell",
            ],
        },
    },
]

# --- database -------------------------------------------------------------------------------------
DATABASES = {
    "default": env.db_url_config(env.str("DATABASE_URL", default=locations.database_url(DATA_DIR)))
}
if DATABASES["default"]["ENGINE"] != "django.db.backends.postgresql":
    raise ImproperlyConfigured(
        "DATABASE_URL must name a PostgreSQL database (postgresql://user@host/name): "
        "claims, leases and the log stand on it."
    )
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
DATABASES["default"].setdefault("OPTIONS", {})["pool"] = {
    "min_size": 1,
    "max_size": env.int("MCPDESK_DB_POOL", default=16),
    "timeout": 5,
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- doorbell and live updates --------------------------------------------------------------------
REDIS_URL = env.str("REDIS_URL", default="")
_BROKER_DIR = locations.broker_dir(DATA_DIR)

CELERY_BROKER_URL = env.str("CELERY_BROKER_URL", default=REDIS_URL or "filesystem://")
CELERY_BROKER_TRANSPORT_OPTIONS = (
    {
        "data_folder_in": str(_BROKER_DIR / "queue"),
        "data_folder_out": str(_BROKER_DIR / "queue"),
        "control_folder": str(_BROKER_DIR / "control"),
        "polling_interval": 0.05,
    }
    if CELERY_BROKER_URL == "filesystem://"
    else {}
)
# The rows are the queue: a wake-up that is lost costs nothing, so none is kept or retried.
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = False
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TASK_PUBLISH_RETRY = False
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_WORKER_SEND_TASK_EVENTS = False

CHANNEL_LAYERS = {
    "default": (
        layers.over_redis(REDIS_URL)
        if REDIS_URL
        else {
            "BACKEND": "mcpdesk.web.notify_layer.NotifyChannelLayer",
            "CONFIG": {"database": DATABASES["default"]},
        }
    )
}

# --- the engine -----------------------------------------------------------------------------------
ENGINE = {
    # one worker process holds at most this many claims at a time
    "CLAIMS": env.int("MCPDESK_CLAIMS", default=64),
    # a lease outlives the request it covers by this much (s); then others may take the row
    "LEASE_MARGIN_S": env.float("MCPDESK_LEASE_MARGIN_S", default=15.0),
    "POLL_TIMEOUT_S": env.float("MCPDESK_POLL_TIMEOUT_S", default=30.0),
    "MAX_POLLS": env.int("MCPDESK_MAX_POLLS", default=100_000),
    "MAX_AGE_DAYS": env.int("MCPDESK_MAX_AGE_DAYS", default=30),
    # after a claim that found only a few operations the next one waits this long (s) for more, or
    # until somebody rings
    "GATHER_S": env.float("MCPDESK_GATHER_S", default=0.2),
    # a drain hands the Celery slot back after this long (s); the clock rings again
    "DRAIN_S": env.float("MCPDESK_DRAIN_S", default=30.0),
}
# days that messages are kept after they were sent or were not needed any more
KEEP_MESSAGES_DAYS = env.int("MCPDESK_KEEP_MESSAGES_DAYS", default=90)
# how often the clock looks for work nobody rang for (s)
SWEEP_INTERVAL_S = env.float("MCPDESK_SWEEP_INTERVAL_S", default=0.25)
# private and loopback addresses may be called only where an admin said so, and this allows it
ALLOW_PRIVATE_SERVERS = env.bool("MCPDESK_ALLOW_PRIVATE_SERVERS", default=EMBEDDED)

# --- the API --------------------------------------------------------------------------------------
API = {
    # requests of one token in a minute, over all web processes
    "RATE": env.int("MCPDESK_API_RATE", default=600),
}

# --- people ---------------------------------------------------------------------------------------
AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/inbox/"
ACCOUNT_ADAPTER = "mcpdesk.accounts.adapter.AccountAdapter"
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
# an address is what admins know a person by: nobody adds another one by themselves
ACCOUNT_MAX_EMAIL_ADDRESSES = 1
MFA_ADAPTER = "mcpdesk.accounts.adapter.MFAAdapter"
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_LOGOUT_ON_GET = False
ACCOUNT_DEFAULT_HTTP_PROTOCOL = "https" if BEHIND_TLS else "http"
EMAIL_CONFIG = env.email_url("EMAIL_URL", default="consolemail://")
vars().update(EMAIL_CONFIG)
# a mail server that hangs holds one thread of a worker for this long (s)
EMAIL_TIMEOUT = 20
DEFAULT_FROM_EMAIL = env.str(
    "MCPDESK_MAIL_FROM", default=f"mcpdesk@{urlsplit(PUBLIC_URL).hostname}"
)

# limits on sign-in and codes that were used count over all web processes
CACHES = {"default": {"BACKEND": "mcpdesk.accounts.shared_cache.RowsCache"}}

# --- web ------------------------------------------------------------------------------------------
STATIC_URL = "/static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
# without a collected copy (tests, development) files are served where they lie
WHITENOISE_USE_FINDERS = True

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False
FORMAT_MODULE_PATH = "mcpdesk.formats"

SESSION_COOKIE_AGE = 14 * 24 * 3600
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = BEHIND_TLS
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
BEHIND_PROXY = env.bool("MCPDESK_BEHIND_PROXY", default=False)
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if BEHIND_PROXY else None
# whom the limits on sign-in count: behind a proxy, everybody would be the proxy
ALLAUTH_TRUSTED_PROXY_COUNT = 1 if BEHIND_PROXY else 0
SECURE_HSTS_SECONDS = 31_536_000 if BEHIND_TLS else 0
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
# 1 MiB of arguments takes up to 3 MiB in a form; mcpdesk.web.bodies holds all requests to this
DATA_UPLOAD_MAX_MEMORY_SIZE = 4 * 1024 * 1024
# the largest form that is rendered has 1,000 fields, some of them lists of choices
DATA_UPLOAD_MAX_NUMBER_FIELDS = 12_000

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "media-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        "manifest-src": [SELF],
    }
}

# --- traces ---------------------------------------------------------------------------------------
# read here and, with whatever else OpenTelemetry knows, by its exporter
TRACES_TO = env.str("OTEL_EXPORTER_OTLP_ENDPOINT", default="")
SERVICE_NAME = env.str("OTEL_SERVICE_NAME", default="mcpdesk")

# --- metrics --------------------------------------------------------------------------------------
# what asks for /metrics has to show it; without one, only this machine may ask, through no proxy
METRICS_TOKEN = env.str("MCPDESK_METRICS_TOKEN", default="")

# --- logs: ids and states, never payloads ---------------------------------------------------------
LOG_LEVEL = env.str("MCPDESK_LOG_LEVEL", default="INFO")
# "lines" (key=value) or "json"
LOG_FORMAT = env.str("MCPDESK_LOG_FORMAT", default="lines")
# else every line of a request would bear its address, as whoever asks writes it (X-Forwarded-For)
DJANGO_STRUCTLOG_IP_LOGGING_ENABLED = False
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "ours": {
            "()": "mcpdesk.logs.formatter",
            # another word is refused by checks.py, and has to come so far
            "form": LOG_FORMAT if LOG_FORMAT in {"lines", "json"} else "lines",
        },
    },
    "filters": {
        "task_failures": {"()": "mcpdesk.logs.TaskFailures"},
        "loop_failures": {"()": "mcpdesk.logs.LoopFailures"},
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "ours"}},
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
    "loggers": {
        # request lines carry URLs; django_structlog writes of those that fail the path
        "uvicorn.access": {"level": "WARNING"},
        # its own handler would write exceptions with their words
        "uvicorn": {"handlers": [], "propagate": True},
        "httpx": {"level": "WARNING"},
        "asyncio": {"filters": ["loop_failures"]},
        "celery.app.trace": {"level": "WARNING", "filters": ["task_failures"]},
        "celery.worker.strategy": {"level": "WARNING"},
        "django_structlog": {"level": "WARNING"},
        # until mcpdesk.logs.write_events()
        "mcpdesk.events": {"level": "WARNING"},
        "kombu.connection": {"level": "ERROR"},
    },
}

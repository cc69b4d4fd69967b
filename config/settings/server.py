"""Kilit's settings, in the order of Django's documentation; values that vary come from the environment.

docs/configuration.md lists the variables. Settings never write files: manage.py makes the local secret key.
"""

from datetime import timedelta
from math import ceil
from typing import Any

import django_stubs_ext
from django.templatetags.static import static
from django.utils.translation import gettext_lazy

from config.settings.databases import databases
from config.settings.environment import BASE_DIR, Environment, own_addresses, refuse_placeholders
from config.settings.logins import *
from config.settings.secret_key import read_secret_key
from config.settings.shared import *
from config.settings.shared import KILIT_VAR, PRODUCTION, SMALL
from config.settings.web import *
from config.settings.web import BIND, HOST, METRICS_TOKEN, PORT
from kilit.api.settings import REST_FRAMEWORK, SPECTACULAR_SETTINGS

# Makes `ModelAdmin[Conversion]` and `QuerySet[Conversion]` subscriptable at run time.
django_stubs_ext.monkeypatch()

env = Environment(BASE_DIR)

# Kilit ---------------------------------------------------------------------------------------------------------------

# Where the console and the API are reached from outside, for links in webhooks and alerts.
PUBLIC_URL = env.text("KILIT_PUBLIC_URL", f"http://{BIND}").rstrip("/")
# Of the pages that people without a login see: the browser of a phone does not say its own.
SHOP_TIME_ZONE = env.zone("KILIT_SHOP_TIME_ZONE", default="Europe/Istanbul")
CRON_SECRET = env.secret("KILIT_CRON_SECRET")
HEARTBEAT_URL = env.text("KILIT_HEARTBEAT_URL", "")  # called each minute while work gets through
DISK_LOW_GB = env.number("KILIT_DISK_LOW_GB", default=5, least=0)  # a problem when less is free; 0 switches it off
KEEP_FINISHED_DAYS = env.number("KILIT_KEEP_FINISHED_DAYS", default=0, least=0, most=36_500)  # 0 keeps everything
RATE_PER_MINUTE = env.number("KILIT_RATE_PER_MINUTE", default=600, least=1)  # requests of one key
ADMIN_RATE_PER_MINUTE = env.number("KILIT_ADMIN_RATE_PER_MINUTE", default=60, least=1)  # of a key that manages sites
# How many of our own proxies a request passes; without any, X-Forwarded-For cannot be trusted.
PROXIES = env.number("KILIT_PROXIES", default=0, least=0, most=9)
# Strangers reach the web server itself.
IS_EXPOSED = not PROXIES and HOST not in ("localhost", "::1") and not HOST.startswith("127.")
KEEP_DENIED_REQUESTS_FOR = timedelta(days=env.number("KILIT_KEEP_REFUSALS_DAYS", default=90, least=7, most=3660))

# How often a conversion is claimed before it fails permanently; see docs/decisions/0001-settled-conflicts.md.
SCRIPT_MAX_ATTEMPTS = env.number("KILIT_SCRIPT_MAX_ATTEMPTS", default=5, least=1)
API_MAX_ATTEMPTS = env.number("KILIT_API_MAX_ATTEMPTS", default=8, least=1)

# The uploader; the addresses are only changed to use a simulated Google.
GOOGLE_ADS_ENDPOINT = env.text("KILIT_GOOGLE_ADS_ENDPOINT", "")
DATA_MANAGER_ENDPOINT = env.text("KILIT_DATA_MANAGER_ENDPOINT", "https://datamanager.googleapis.com")
GOOGLE_TOKEN_URI = env.text("KILIT_GOOGLE_TOKEN_URI", "https://oauth2.googleapis.com/token")
# The first encrypts stored credentials; the others can still decrypt them.
CREDENTIAL_KEYS = env.words("KILIT_CREDENTIAL_KEYS", default=[])

# PDF jobs; see docs/pdf-operators.md.
PDF_TEMPLATES = env.words(
    "KILIT_PDF_TEMPLATES",
    default=["invoice", "offer", "delivery_note", "cutting_sheet", "labels", "conversion_report"],
)
if PDF_TEMPLATES == ["none"]:  # an empty variable counts as not set
    PDF_TEMPLATES = []
PDF_ASSET_PATTERNS = env.text("KILIT_PDF_ASSET_PATTERNS", "").split()  # regular expressions for whole addresses
PDF_FONTS = env.words("KILIT_PDF_FONTS", default=[])  # folders of extra fonts, for other scripts than Latin
PDF_SANDBOX = env.flag("KILIT_PDF_SANDBOX", default=True)
PDF_FAIL_SAFE = env.one_of("KILIT_PDF_FAIL_SAFE", ("STRICT", "DEGRADE"), default="STRICT").lower()
PDF_QUEUE_LIMIT = env.number("KILIT_PDF_QUEUE_LIMIT", default=1000, least=1)
# Half of it, so that no owner keeps the others out.
PDF_QUEUE_LIMIT_PER_OWNER = env.number("KILIT_PDF_QUEUE_LIMIT_PER_OWNER", default=(PDF_QUEUE_LIMIT + 1) // 2, least=1)
PDF_JOBS_PER_OWNER = env.number("KILIT_PDF_JOBS_PER_OWNER", default=0, least=0)  # running at once; 0: no limit
PDF_FREE_WORKERS = env.number("KILIT_PDF_FREE_WORKERS", default=1, least=0)  # for owners who have no running job
PDF_BROWSER_IDLE = timedelta(
    minutes=env.number("KILIT_PDF_BROWSER_MINUTES", default=1 if SMALL else 5, least=1, most=10_080)
)
PDF_TTL = timedelta(hours=env.number("KILIT_PDF_TTL_HOURS", default=24, least=1, most=24 * 366))
PDF_S3_BUCKET = env.text("KILIT_S3_BUCKET", "")

# Webhooks go to public addresses only, and to these networks.
WEBHOOK_PRIVATE_ADDRESSES = env.networks("KILIT_WEBHOOK_PRIVATE_ADDRESSES")
KEEP_MESSAGES_DAYS = env.number("KILIT_KEEP_MESSAGES_DAYS", default=30, least=7, most=3660)

# Queues that this installation does not use, by what people call them.
QUEUE_APPS = {"conversions": "ociqueue", "pdf": "pdfjobs", "cutting": "orchestrator"}
APPS_OFF = [QUEUE_APPS[word] for word in env.some_of("KILIT_QUEUES_OFF", QUEUE_APPS)]

# Database ------------------------------------------------------------------------------------------------------------

DATABASES = databases(env, default={"ENGINE": "kilit.postgres", "NAME": "kilit"})

# Debugging -----------------------------------------------------------------------------------------------------------

DEBUG = env.flag("KILIT_DEBUG", default=False)

# Email ---------------------------------------------------------------------------------------------------------------

email = env.mail("EMAIL_URL")
EMAIL_HOST, EMAIL_PORT = email["EMAIL_HOST"], email["EMAIL_PORT"]  # without a host, no e-mail is sent
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = email["EMAIL_HOST_USER"], email["EMAIL_HOST_PASSWORD"]
EMAIL_USE_TLS, EMAIL_USE_SSL = email["EMAIL_USE_TLS"], email["EMAIL_USE_SSL"]
EMAIL_TIMEOUT = 15  # seconds for each step
DEFAULT_FROM_EMAIL = env.text("EMAIL_FROM", "Kilit <kilit@localhost>")

# File uploads --------------------------------------------------------------------------------------------------------

DATA_UPLOAD_MAX_MEMORY_SIZE, MOST_UPLOADED = 5 * 1024 * 1024, 200 * 1024 * 1024  # without files, and in all
FILE_UPLOAD_MAX_MEMORY_SIZE = 6 * 1024 * 1024
# Files of conversions may have e-mail addresses, so those that are too large for memory have no name on the disk.
FILE_UPLOAD_HANDLERS = [
    "django.core.files.uploadhandler.MemoryFileUploadHandler",
    "config.web.uploads.NamelessFileUploadHandler",
]

# Globalization -------------------------------------------------------------------------------------------------------

# Numbers are grouped where they are shown; grouping all would also change ids and URLs.
USE_THOUSAND_SEPARATOR = False
LOCALE_PATHS = [BASE_DIR / "locale"]
FORMAT_MODULE_PATH = "config.formats"
LANGUAGE_COOKIE_AGE = 365 * 24 * 3600
LANGUAGE_COOKIE_HTTPONLY = True
LANGUAGE_COOKIE_SAMESITE = "Lax"
LANGUAGE_COOKIE_SECURE = PRODUCTION

# HTTP ----------------------------------------------------------------------------------------------------------------

LOCAL_HOSTS = ["localhost", "127.0.0.1", "[::1]", "testserver", BIND.removesuffix(f":{PORT}")]
if HOST in ("0.0.0.0", "::"):  # noqa: S104 - compared
    LOCAL_HOSTS += own_addresses()
ALLOWED_HOSTS = env.words("ALLOWED_HOSTS", default=None if PRODUCTION else LOCAL_HOSTS)
MIDDLEWARE = [
    "config.web.middleware.RequestLogMiddleware",
    "config.web.csp.SecurityHeadersMiddleware",
    "config.web.middleware.ProbeMiddleware",
    "config.web.middleware.MalformedRequestMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "kilit.console.account.preferences.UserLanguageMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "kilit.access.middleware.SecondFactorMiddleware",  # before anything reads the user
    "kilit.access.middleware.ActorMiddleware",
    "kilit.console.account.preferences.UserTimezoneMiddleware",
    "kilit.access.middleware.DeniedRequestMiddleware",
    "kilit.console.dashboard.live.LiveMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "kilit.access.middleware.LockoutMiddleware",  # must be last
]
WSGI_APPLICATION = "config.web.wsgi.application"

# Logging -------------------------------------------------------------------------------------------------------------

# What `make up` prints: JSON lines, or steps and warnings as text. AUTO is text in a terminal.
LOGS = env.one_of("KILIT_LOGS", ("AUTO", "JSON", "TEXT"), default="AUTO")

# Models --------------------------------------------------------------------------------------------------------------

INSTALLED_APPS = [
    "config.theme.UnfoldConfig",  # before the admin, to override its templates
    "django.contrib.admin.apps.SimpleAdminConfig",  # config.urls loads the admins: workers need none
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "pgtrigger",
    "django_q",
    # Also while they are off: a user could not be deleted if rows of tables without models referred to it.
    *(f"allauth{app}" for app in ("", ".account", ".mfa", ".socialaccount")),
    *(
        f"kilit.{app}"
        for app in ("lock", "workers", "web", "access", "sites", "batches", "problems", "audit", "console", "backup")
    ),
    "ociqueue",
    "pdfjobs",
    "orchestrator",
    "outbox",
    "config",
]
SITE_MODEL = "ociqueue.Site"  # a child of kilit.sites.models.Tenant, with its own columns

# Security ------------------------------------------------------------------------------------------------------------

SECRET_KEY = env.text("SECRET_KEY") if PRODUCTION else env.text("SECRET_KEY", read_secret_key(KILIT_VAR))
SECRET_KEY_FALLBACKS = env.words("SECRET_KEY_FALLBACKS", default=[])
if PRODUCTION:
    refuse_placeholders(
        SECRET_KEY=[SECRET_KEY],
        SECRET_KEY_FALLBACKS=SECRET_KEY_FALLBACKS,
        KILIT_CREDENTIAL_KEYS=CREDENTIAL_KEYS[:1],  # the others decrypt only, so that one can be replaced
        KILIT_METRICS_TOKEN=[METRICS_TOKEN],
    )
CSRF_TRUSTED_ORIGINS = env.words("CSRF_TRUSTED_ORIGINS", default=[])
CSRF_COOKIE_SECURE = PRODUCTION
CSRF_FAILURE_VIEW = "config.web.views.csrf_failure"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if PRODUCTION else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = PRODUCTION
SECURE_HSTS_PRELOAD = PRODUCTION
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if PRODUCTION else None
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]  # probes use plain HTTP
SECURE_REFERRER_POLICY = "same-origin"
SECURE_SSL_REDIRECT = PRODUCTION
X_FRAME_OPTIONS = "DENY"

# Templates -----------------------------------------------------------------------------------------------------------

FORM_RENDERER = "kilit.console.icons.FormRenderer"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "loaders": ["kilit.console.icons.ConsoleLoader"],  # hides icons from screen readers
            "context_processors": [
                "django.template.context_processors.request",
                *(f"django.contrib.{app}.context_processors.{app}" for app in ("auth", "messages")),
            ],
        },
    }
]

# URLs ----------------------------------------------------------------------------------------------------------------

ROOT_URLCONF = "config.urls"

# Sessions ------------------------------------------------------------------------------------------------------------

SESSION_COOKIE_AGE = 12 * 3600  # an operator's shift
SESSION_COOKIE_SECURE = PRODUCTION

# Static files --------------------------------------------------------------------------------------------------------

STATIC_URL = "/static/"
STATIC_ROOT = KILIT_VAR / "static" if PRODUCTION else None  # no collectstatic locally
STORAGES: dict[str, object] = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if PRODUCTION
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
    "artifacts": {
        "BACKEND": "pdfjobs.storage.s3.S3ArtifactStorage",
        "OPTIONS": {
            "bucket_name": PDF_S3_BUCKET,
            "endpoint_url": env.text("KILIT_S3_ENDPOINT", "") or None,
            "region_name": env.text("KILIT_S3_REGION", "") or None,
        },
    }
    if PDF_S3_BUCKET
    else {"BACKEND": "pdfjobs.storage.folder.FolderStorage", "OPTIONS": {"location": KILIT_VAR / "artifacts"}},
}
WHITENOISE_USE_FINDERS = not PRODUCTION

# django-q2 -----------------------------------------------------------------------------------------------------------

WORKERS = env.number("KILIT_WORKERS", default=1 if SMALL else 2, least=1, most=64)
TASK_TIMEOUT = env.number("KILIT_TASK_TIMEOUT", default=120, least=5, most=3600)  # seconds
# Seconds for one upload to Google Ads; its task also claims rows before and records results after.
GOOGLE_ADS_TIMEOUT = env.number("KILIT_GOOGLE_ADS_TIMEOUT", default=min(60, TASK_TIMEOUT // 2), least=1, most=300)
# docs/decisions/0003-doorbells.md explains each value.
Q_CLUSTER: dict[str, Any] = {
    "name": "kilit",
    "orm": "default",
    "workers": WORKERS,
    "timeout": TASK_TIMEOUT,
    # The visibility timeout starts when a task is prefetched, so few are, and `retry` covers the wait.
    "queue_limit": WORKERS,
    "bulk": 1,
    "retry": (ceil((WORKERS + 1) / WORKERS) + 1) * (TASK_TIMEOUT + 3) + 30,
    "broker_class": "kilit.workers.broker.PatientBroker",
    "poll": 0.1,  # seconds between polls when no notification arrives
    "ack_failures": True,
    "max_attempts": 1,
    "save_limit": -1,
    "catch_up": False,
    "scheduler": False,  # supervisors run scheduled tasks; one bad row would stop all of django-q2's schedules
    "ALT_CLUSTERS": {},  # each supervisor's cluster has its own name
    "guard_cycle": 0.5,
    "recycle": 500,
}

# django-unfold -------------------------------------------------------------------------------------------------------

UNFOLD: dict[str, object] = {
    "SITE_TITLE": "Kilit",
    "SITE_HEADER": "Kilit",
    "SITE_SUBHEADER": gettext_lazy("Guarded job queues"),
    "SITE_SYMBOL": "lock",
    "SITE_URL": None,  # there is no public site
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": lambda _: static("console/lock.svg")}],
    "SHOW_HISTORY": True,
    "SHOW_VIEW_ON_SITE": False,
    "STYLES": [lambda _: static("console/console.css"), lambda _: static("console/lists.css")],
    "SCRIPTS": [
        lambda _, name=name: static(f"console/{name}.js")
        for name in ("strict", "zone", "copy", "menus", "choose", "autocomplete", "live")
    ],
    "DASHBOARD_CALLBACK": "kilit.console.dashboard.page.on_index",
    "SHOW_LANGUAGES": True,
    "ACCOUNT": {"navigation": "kilit.console.navigation.account"},
    "SIDEBAR": {"navigation": "kilit.console.navigation.sidebar", "show_search": True, "command_search": True},
    "TABS": "kilit.console.navigation.tabs",
    "GLOBAL_CALLBACK": "kilit.console.navigation.on_page",
}

"""Settings of the runner on the OptiPlanning PC: the central database and the cutting floor, nothing of the server.

They come from the environment and from `.env` in the runner's folder; docs/optiplanning-pc.md lists them.
"""

import os
import sys
from pathlib import Path

import django_stubs_ext
from django.core.exceptions import ImproperlyConfigured

from config.settings.databases import database_timeout, databases
from config.settings.environment import BASE_DIR, Environment
from config.settings.logs import logging_to_stderr
from config.settings.sentry import start_sentry

django_stubs_ext.monkeypatch()

# The folder of the virtual environment: a Windows service starts in a system folder.
HOME = Path(os.environ.get("KILIT_HOME") or Path(sys.prefix).parent)
env = Environment(HOME)
os.environ.setdefault("KILIT_VAR", str(HOME))

from config.settings.floor import *
from config.settings.floor import KILIT_VAR

FLOOR_IS_HERE = True
OPTI_SIMULATED = False
RUNNER_PORT = env.number("KILIT_RUNNER_PORT", default=8377, most=65535)  # of the status page; 0 switches it off

if not env.text("DATABASE_URL", ""):
    raise ImproperlyConfigured(
        f"DATABASE_URL is not set. The runner needs the central PostgreSQL: write "
        f"DATABASE_URL=postgres://user:password@server:5432/kilit to {HOME / '.env'}."
    )
DATABASES = databases(env, default={})
DATABASE_TIMEOUT = database_timeout(env)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "pgtrigger",
    "kilit.lock",
    "config.runner.apps.WorkersTables",
    "config.runner.apps.CuttingTables",
]

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("tr", "Türkçe")]
LOCALE_PATHS = [BASE_DIR / "config" / "locale", BASE_DIR / "locale"]  # installed, and in the repository
TIME_ZONE = "UTC"
USE_TZ = True

if SENTRY_DSN := env.text("SENTRY_DSN", ""):
    start_sentry(
        SENTRY_DSN,
        errors_percent=env.number("SENTRY_ERRORS_PERCENT", default=100, most=100),
        traces_percent=env.number("SENTRY_TRACES_PERCENT", default=0, most=100),
        release=env.text("SENTRY_RELEASE", ""),
    )
LOG_LEVEL = env.one_of("KILIT_LOG_LEVEL", ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"), default="INFO")
LOG_FILE = KILIT_VAR / "runner.log"
LOGGING = logging_to_stderr(LOG_LEVEL)
LOGGING["handlers"]["file"] = {
    "class": "logging.handlers.RotatingFileHandler",
    "filename": LOG_FILE,
    "maxBytes": 5_000_000,
    "backupCount": 5,
    "encoding": "utf-8",
    "delay": True,  # `check` writes nothing, and leaves the file to the service
    "formatter": "json",
    "filters": ["context"],
}
LOGGING["root"]["handlers"] = ["stderr", "file"]

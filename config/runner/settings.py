"""Settings of the runner on the OptiPlanning PC: the central database and the cutting floor, nothing of the server.

They come from the environment and from `.env` in the runner's folder; docs/optiplanning-pc.md lists them.
"""

import os
import sys
from pathlib import Path

import django_stubs_ext
from django.core.exceptions import ImproperlyConfigured

from config.environment import Environment
from config.logs import logging_to_stderr

django_stubs_ext.monkeypatch()

# The folder of the virtual environment: a Windows service starts in a system folder.
HOME = Path(os.environ.get("KILIT_HOME") or Path(sys.prefix).parent)
env = Environment(HOME)
os.environ.setdefault("KILIT_VAR", str(HOME))

from config.floor import (  # noqa: E402, F401 - reads the variables that .env sets
    BASE_DIR,
    FLOOR_POLL,
    KILIT_VAR,
    OPTI_COMMAND,
    OPTI_EXPORT_FOLDER,
    OPTI_IMPORT_FOLDER,
    OPTI_MACRO,
    OPTI_RULES,
    OPTI_TEMPLATE,
    SAW_FOLDER,
    XML_MAX_MB,
)

FLOOR_IS_HERE = True
OPTI_SIMULATED = False
RUNNER_PORT = env.number("KILIT_RUNNER_PORT", default=8377, most=65535)  # of the status page; 0 switches it off

if not env.text("DATABASE_URL", ""):
    raise ImproperlyConfigured(
        f"DATABASE_URL is not set. The runner needs the central PostgreSQL: write "
        f"DATABASE_URL=postgres://user:password@server:5432/kilit to {HOME / '.env'}."
    )
database = env.database("DATABASE_URL")
database["OPTIONS"] = {
    "options": "-c idle_in_transaction_session_timeout=60000",
    "connect_timeout": 5,
    # A server that is switched off sends nothing: without these, a query would wait for it for two hours.
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    **database.get("OPTIONS", {}),
}
DATABASES = {"default": {**database, "CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True}}
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

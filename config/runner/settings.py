"""Settings of the runner on the OptiPlanning PC: the central database and the cutting floor, nothing of the server.

They come from the environment and from `.env` in the runner's folder; docs/optiplanning-pc.md lists them.
"""

import os
import sys
from pathlib import Path

import django_stubs_ext
from django.core.exceptions import ImproperlyConfigured

from config.runner.apps import TABLES
from config.settings.databases import databases
from config.settings.environment import BASE_DIR, Environment

django_stubs_ext.monkeypatch()

# The folder of the virtual environment: a Windows service starts in a system folder.
HOME = Path(os.environ.get("KILIT_HOME") or Path(sys.prefix).parent)
env = Environment(HOME)
os.environ.setdefault("KILIT_VAR", str(HOME))

from config.settings.shared import *
from config.settings.shared import KILIT_VAR, LOGGING

FLOOR_IS_HERE = True
OPTI_SIMULATED = False
RUNNER_PORT = env.number("KILIT_RUNNER_PORT", default=8377, most=65535)  # of the status page; 0 switches it off

if not env.text("DATABASE_URL", ""):
    raise ImproperlyConfigured(
        f"DATABASE_URL is not set. The runner needs the central PostgreSQL: write "
        f"DATABASE_URL=postgres://user:password@server:5432/kilit to {HOME / '.env'}."
    )
DATABASES = databases(env, default={})

INSTALLED_APPS = TABLES

LOCALE_PATHS = [BASE_DIR / "config" / "locale", BASE_DIR / "locale"]  # installed, and in the repository
LOG_FILE = KILIT_VAR / "runner.log"
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

"""The product's settings, plus a queue of the tests' own: parcels."""

import os
from pathlib import Path

os.environ.setdefault("SECRET_KEY", "tests")  # nothing signed here outlives the run
os.environ.setdefault("KILIT_VAR", str(Path(__file__).resolve().parent.parent / "var" / "test"))

from config.settings.server import *  # noqa: F403
from config.settings.server import DATABASES, INSTALLED_APPS

# Two runs at once, in two terminals, do not meet. `make mutants` has many runs use one database.
DATABASES["default"]["TEST"] = {"NAME": os.environ.get("KILIT_TEST_DATABASE", f"test_kilit_{os.getpid()}")}
# A test is one transaction, and on a busy machine a minute may pass between two of its statements.
DATABASES["default"]["IDLE_IN_TRANSACTION_SECONDS"] = 600
# For the same reason a new connection of a live server may take long.
DATABASES["default"]["OPTIONS"]["connect_timeout"] = 60
INSTALLED_APPS = [*INSTALLED_APPS, "tests.apps.parcels"]
# Each test makes users; a fast hash is as good for that.
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.MD5PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",  # of people made by a command with the product's settings
]
# Every test client loads the middleware; without this each would look through all static files first.
WHITENOISE_AUTOREFRESH = True
# A test changes what it then reads.
METRICS_SECONDS = 0
# The disk of the machine that runs the tests is not the product's business.
DISK_LOW_GB = 0

# Tests have any number of running jobs of one owner; those of the limit set it.
PDF_FREE_WORKERS = 0

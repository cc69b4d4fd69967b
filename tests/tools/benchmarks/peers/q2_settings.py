"""A project with django-q2 and nothing else, tuned for throughput, or with its defaults when BENCH_TUNED is empty."""

import json
import os

DATABASES = {"default": {"ENGINE": "django.db.backends.postgresql", **json.loads(os.environ["BENCH_DATABASE"])}}
TUNED = bool(os.environ["BENCH_TUNED"])
# A new connection for each task would cost most of its time.
DATABASES["default"]["CONN_MAX_AGE"] = 600 if TUNED else 0
INSTALLED_APPS = ["django.contrib.contenttypes", "django_q"]
SECRET_KEY = os.environ["SECRET_KEY"]
USE_TZ = True
LOGGING_CONFIG = None
DEFAULTS = {"name": "kilit", "orm": "default", "log_level": "ERROR"}
FAST = {
    "name": "kilit",  # tasks are signed with it
    "orm": "default",
    "workers": 2,  # one for each core
    "bulk": 50,  # tasks fetched at once
    "queue_limit": 100,
    "save_limit": -1,  # successes are not kept
    "timeout": 60,
    "retry": 600,
    "poll": 0.05,
    "ack_failures": True,
    "catch_up": False,
    "scheduler": False,
    "log_level": "ERROR",
}
Q_CLUSTER = FAST if TUNED else DEFAULTS

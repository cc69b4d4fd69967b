"""The web server's settings; gunicorn reads this file, the environment overrides by GUNICORN_CMD_ARGS."""

import gc
import os
from importlib import import_module
from typing import Any

from django.conf import settings

from config.startup_errors import one_line_errors
from kilit.workers.processes import die_with_parent

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

with one_line_errors():
    bind = f"{settings.HOST}:{settings.PORT}"
    workers = settings.WEB_CONCURRENCY
worker_class = "gthread"
threads = 4
preload_app = True  # bad configuration ends the server at once, instead of every worker for ever
graceful_timeout = 30
timeout = 60
accesslog = None  # config.middleware.RequestLogMiddleware writes it, without queries
loglevel = "warning"


def on_starting(server: Any) -> None:
    """Under `manage.py up`, end when it ends."""
    die_with_parent()


def when_ready(server: Any) -> None:
    """Keep what is loaded out of the collector's way: workers would walk it, and by that copy what they share."""
    import_module(settings.ROOT_URLCONF)  # every view, once for all workers
    gc.collect()
    gc.freeze()

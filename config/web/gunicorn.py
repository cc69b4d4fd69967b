"""Settings of gunicorn; GUNICORN_CMD_ARGS overrides them."""

import gc
import os
from importlib import import_module
from typing import Any

from django.conf import settings
from django.core.checks import run_checks

from config.settings.logs import RedactingFilter
from config.settings.startup_errors import one_line_errors
from kilit.database.limits import limit_requests
from kilit.workers.management.checked_settings import SETTINGS
from kilit.workers.notifications import announce_changes
from kilit.workers.processes import die_with_parent

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.server")

with one_line_errors():
    bind = settings.BIND
    workers = settings.WEB_CONCURRENCY
worker_class = "config.web.worker.LastCallWorker"
# Each has a connection to the database, sooner or later. A proxy hands over complete requests; without one, as many
# clients that send slowly stop a process.
threads = 16
worker_connections = 500
# By default gunicorn takes SCRIPT_NAME and PATH_INFO from clients on this machine, which may be a proxy that passes on
# whatever it gets: the path would be another than the one that the proxy's rules have judged.
forwarder_headers = ""
header_map = "drop"  # names with an underscore, which Django could not tell from those with a hyphen
preload_app = True  # invalid configuration stops the server at once, instead of restarting workers endlessly
graceful_timeout = 30
timeout = 60
accesslog = None  # config.web.middleware.RequestLogMiddleware logs requests, without queries
loglevel = "warning"
control_socket_disable = True  # it would be in the home folder, one for all installations; signals do the same


def on_starting(server: Any) -> None:
    die_with_parent()  # under `manage.py up`
    server.log.error_log.addFilter(RedactingFilter())  # it logs the address of a request that failed


def post_fork(server: object, worker: object) -> None:
    limit_requests(settings.DATABASE_TIMEOUT, threads=threads)
    announce_changes()


def post_worker_init(worker: Any) -> None:
    from kilit.web.reporter import Reporter

    worker.reporter = Reporter(threads=worker.cfg.threads)
    worker.reporter.start()


def worker_exit(server: object, worker: object) -> None:
    if hasattr(worker, "reporter"):  # it has started
        worker.reporter.end()


def when_ready(server: Any) -> None:
    """Freeze loaded objects: the garbage collector would write to them, and so copy the memory that workers share."""
    import_module(settings.ROOT_URLCONF)  # load every view once, before forking
    for message in run_checks(tags=[SETTINGS]):
        server.log.warning("%s: %s %s", message.id, message.msg, message.hint or "")
    gc.collect()
    gc.freeze()

"""How the runner starts; the command and the Windows service do the same."""

import os
import threading

import django


def set_up() -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.runner.settings"
    django.setup()


def run_until(stop: threading.Event) -> None:
    """Work jobs and serve the status page until stopped."""
    from config.runner.settings import DATABASE_TIMEOUT, LOG_FILE, RUNNER_PORT
    from config.runner.status import status_page
    from kilit.database.limits import limit_statements
    from orchestrator.workflow.watching import watch

    limit_statements(DATABASE_TIMEOUT)
    with status_page(RUNNER_PORT, log=LOG_FILE):
        watch(stop)

"""`manage.py up`: run everything on this machine, starting from an empty folder."""

import errno
import os
import socket
import sys
from contextlib import AbstractContextManager, nullcontext
from io import StringIO
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connection, connections

import outbox.demo
from config.demo import load_demo
from config.local.screen import Screen, ServiceLogs, Step
from config.local.stack import Stack
from config.management.commands import migrate
from kilit.postgres.base import configured_server
from kilit.workers.management.checked_settings import SETTINGS
from orchestrator.demo import plays_here, simulators_command
from pdfjobs.browser import find_browser, may_install_packages

RECEIVER_SECRETS = "WEBHOOK_SECRETS"  # the variable that simulators.webhooks reads


class Command(BaseCommand):
    help = "Set up and run everything on this machine; Ctrl-C stops it."
    requires_system_checks = (SETTINGS,)
    receiver = ""  # of webhooks, in the demo
    logs: ServiceLogs | None = None  # when text is shown instead of JSON lines

    def handle(self, *args: object, **options: object) -> None:
        stack = Stack(settings.BASE_DIR, lock=settings.KILIT_VAR / "run" / "up.pid")
        with stack.locked() as free:
            if not free:
                raise CommandError("Kilit is already running here; stop it with `make down`.")
            check_port(settings.HOST, settings.PORT)
            if settings.LOGS == "TEXT" or (settings.LOGS == "AUTO" and sys.stdout.isatty()):
                stack.logs = self.logs = ServiceLogs(settings.KILIT_VAR / "logs" / "up.log", Screen(sys.stdout))
                self.logs.take_over()
            try:
                logins = self.prepare(stack)
            except KeyboardInterrupt:
                sys.exit("Stopped. Nothing is left running; `make up` continues where this ended.")
            is_embedded = settings.DATABASES["default"]["ENGINE"] == "kilit.postgres"
            sys.stdout.flush()
            stack.hand_over(
                address=settings.LOCAL_URL,
                greeting=self.greeting(logins),
                log=str(self.logs.file) if self.logs else None,
                small=settings.SMALL,
                postgres=str(configured_server().folder) if is_embedded else None,
            )

    def prepare(self, stack: Stack) -> dict[str, object]:
        """Install, migrate and load what is missing; return the demo's logins."""
        self.find_browser()
        with self.step("Migrating the database") as step:
            call_command(MigrateWithProgress(step), verbosity=0, interactive=False, skip_checks=False)
        logins = {}
        if not settings.PRODUCTION:
            with self.step("Loading demo data"):
                self.receive_webhooks(stack)
                logins = load_demo()
        if plays_here():
            stack.extra["simulator"] = "python -m simulators.optiplanning --modes BC"  # A has its command
            stack.environment["KILIT_OPTI_SIMULATED"] = "true"
            stack.environment["KILIT_OPTI_COMMAND"] = settings.OPTI_COMMAND or simulators_command()
        if os.environ["DJANGO_SETTINGS_MODULE"] == "config.settings.server":
            fewer = {"DJANGO_SETTINGS_MODULE": "config.runner.server_settings"}
            stack.own_variables |= {"runner": fewer, "simulator": fewer}
        if not settings.FLOOR_IS_HERE or "orchestrator" in settings.APPS_OFF:
            stack.left_out.append("runner")
        connection.close()
        return logins

    def step(self, title: str) -> AbstractContextManager[Step]:
        return self.logs.screen.step(title) if self.logs else nullcontext(Step(title))

    def find_browser(self) -> None:
        if not self.logs:
            call_command("browser")
            return
        with self.step("Finding headless Chromium for PDFs") as step:
            result = StringIO()
            if find_browser() is None:
                step.progress = f"installing, up to some minutes{' (as root also by apt-get)' * may_install_packages()}"
            call_command("browser", stdout=result, no_color=True)
            step.progress = ""
        if find_browser() is None:
            self.logs.screen.line(f"    {self.logs.screen.paint(result.getvalue().splitlines()[-1], 'yellow')}")

    def receive_webhooks(self, stack: Stack) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        self.receiver = f"http://127.0.0.1:{port}/"
        # Not as arguments: everyone on the machine can read those.
        stack.own_variables["receiver"] = {RECEIVER_SECRETS: " ".join(outbox.demo.load_demo(self.receiver))}
        stack.extra["receiver"] = f"python -m simulators.webhooks --port {port}"
        stack.environment["KILIT_WEBHOOK_PRIVATE_ADDRESSES"] = outbox.demo.private_addresses()

    def greeting(self, logins: dict[str, Any]) -> list[str]:
        lines = ["", f"Kilit is ready at {settings.LOCAL_URL}/admin/", ""]
        if settings.IS_EXPOSED:
            lines += [f"It is opened by {', '.join(settings.ALLOWED_HOSTS)}; ALLOWED_HOSTS lists others.", ""]
        lines += [
            f"  {role:<9} {who['username']:<14} {who['password']}" for role, who in logins.items() if "password" in who
        ]
        return [*lines, "", f"Webhooks are received at {self.receiver}"] if self.receiver else lines


def check_port(host: str, port: int) -> None:
    """Fail before anything is started if this user cannot listen there, or another process does."""
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((host, port))
    except OSError as error:
        raise CommandError(why_not_listening(error, host, port)) from None


def why_not_listening(error: OSError, host: str, port: int) -> str:
    if isinstance(error, PermissionError):
        return f"You have no permission to listen on port {port}; choose one from 1024: PORT=8000 make up"
    if isinstance(error, socket.gaierror):
        return f"HOST={host} is not the name of an IPv4 address; use an address of this machine: HOST=127.0.0.1 make up"
    if error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
        return f"{host} is not an address of this machine; use one that it has: HOST=127.0.0.1 make up"
    return f"Port {port} is in use; choose another one: PORT={port + 1} make up"


class MigrateWithProgress(migrate.Command):
    def __init__(self, step: Step, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._step, self._done, self._total = step, 0, 0

    def handle(self, *args: object, **options: Any) -> None:
        self._total = migrate.missing_migrations(connections[options["database"]])
        super().handle(*args, **options)

    def migration_progress_callback(self, action: str, migration: object = None, fake: bool = False) -> None:
        super().migration_progress_callback(action, migration, fake)
        if action == "apply_success":
            self._done += 1
            self._step.progress = f"{self._done} of {self._total} migrations"

"""`manage.py up`: run everything on this machine, starting from an empty folder."""

import math
import socket
import sys
import threading
import time
import urllib.request
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connection

import outbox.demo
from config.demo import load_demo
from config.stack import Stack
from orchestrator.demo import plays_here, simulators_command

READY_WITHIN = 60  # seconds


class Command(BaseCommand):
    help = "Set up and run everything on this machine; Ctrl-C stops it."
    receiver = ""  # of webhooks, in the demo

    def handle(self, *args: Any, **options: Any) -> None:
        stack = Stack(settings.BASE_DIR, lock=settings.KILIT_VAR / "run" / "up.pid")
        with stack.locked() as free:
            if not free:
                raise CommandError("Kilit is already running here; stop it with `make down`.")
            check_port(settings.PORT)
            call_command("browser")
            call_command("migrate", verbosity=0, interactive=False, skip_checks=False)
            logins = {}
            if not settings.PRODUCTION:
                self.receive_webhooks(stack)
                logins = load_demo()
            if plays_here():
                stack.extra["simulator"] = "python -m simulators.optiplanning --modes BC"  # A has its command
                stack.environment["KILIT_OPTI_SIMULATED"] = "true"
                stack.environment["KILIT_OPTI_COMMAND"] = settings.OPTI_COMMAND or simulators_command()
            connection.close()
            threading.Thread(target=self.greet, args=(logins,), daemon=True).start()
            sys.exit(stack.run())

    def receive_webhooks(self, stack: Stack) -> None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        self.receiver = f"http://127.0.0.1:{port}/"
        secrets = " ".join(f"--secret {secret}" for secret in outbox.demo.load_demo(self.receiver))
        stack.extra["receiver"] = f"python -m simulators.webhooks --port {port} {secrets}"
        stack.environment["KILIT_WEBHOOK_PRIVATE_ADDRESSES"] = outbox.demo.private_addresses()

    def greet(self, logins: dict[str, Any]) -> None:
        address = f"http://localhost:{settings.PORT}"
        end = time.monotonic() + READY_WITHIN
        while not is_ready(f"{address}/readyz"):
            if time.monotonic() >= end:
                self.stderr.write(f"kilit: {address}/readyz is not ready yet; see the log above.")
                end = math.inf  # warn once; it may still become ready
            time.sleep(0.3)
        lines = ["", f"Kilit is ready at {address}/admin/", ""]
        lines += [
            f"  {role:<9} {who['username']:<14} {who['password']}" for role, who in logins.items() if "password" in who
        ]
        if self.receiver:
            lines += ["", f"Webhooks are received at {self.receiver}"]
        self.stdout.write("\n".join([*lines, "", "Ctrl-C stops it."]))
        self.stdout.flush()


def is_ready(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=30) as response:  # noqa: S310 - our own loopback address
            return bool(response.status == 200)  # noqa: PLR2004
    except OSError:
        return False


def check_port(port: int) -> None:
    """Fail before anything is started if another process listens on the port, or this user may not."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except PermissionError:
            message = f"You have no permission to listen on port {port}; choose one from 1024: PORT=8000 make up"
            raise CommandError(message) from None
        except OSError:
            raise CommandError(f"Port {port} is in use; choose another one: PORT={port + 1} make up") from None

"""`manage.py down`: stop what `manage.py up` started, and the embedded PostgreSQL."""

import shlex
from contextlib import suppress
from pathlib import Path

import psutil
from django.conf import settings
from django.core.management.base import BaseCommand

from config.local.stack import Stack
from kilit.postgres.base import configured_server


class Command(BaseCommand):
    help = "Stop everything that `up` started, including the embedded PostgreSQL."
    requires_system_checks = ()

    def handle(self, *args: object, **options: object) -> None:
        var = settings.KILIT_VAR
        stopped = Stack(settings.BASE_DIR, lock=var / "run" / "up.pid").stop_other()
        if settings.DATABASES["default"]["ENGINE"] == "kilit.postgres":
            stopped |= configured_server().stop()
        self.stdout.write(f"Stopped what ran in {var}." if stopped else f"Nothing was running in {var}.")
        for folder in sorted(running_folders() - {str(var)}):
            self.stdout.write(f"Kilit still runs in {folder}; to stop it: KILIT_VAR={shlex.quote(folder)} make down")


def running_folders() -> set[str]:
    """Return where else this user runs what `up` started."""
    folders = set()
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.cmdline()[1:3] == ["-m", "config.local.up"]:
                folders.add(process.environ().get("KILIT_VAR") or str(Path(process.cwd(), "var")))
    return folders

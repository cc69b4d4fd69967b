"""`manage.py demo`: load demo data and print the logins."""

import json

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.demo import load_demo
from kilit.workers.management.checked_settings import SETTINGS


class Command(BaseCommand):
    help = "Load demo data and print the logins; safe to run again."
    requires_system_checks = (SETTINGS,)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *args: object, **options: object) -> None:
        if settings.PRODUCTION:
            raise CommandError("Demo data is for local use only, and KILIT_PRODUCTION is on.")
        logins = load_demo()
        if options["json"]:
            self.stdout.write(json.dumps(logins, indent=2))
            return
        for name, login in logins.items():
            self.stdout.write(f"{name:>12}  " + "  ".join(f"{key} {value}" for key, value in login.items()))

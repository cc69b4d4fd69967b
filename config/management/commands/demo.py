"""`manage.py demo`: load demo data and show how to log in."""

import json
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.demo import load_demo


class Command(BaseCommand):
    help = "Load demo data (repeatable) and print the logins."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.PRODUCTION:
            raise CommandError("Demo data is for local use; KILIT_PRODUCTION is on.")
        shown = load_demo()
        if options["json"]:
            self.stdout.write(json.dumps(shown, indent=2))
            return
        for name, facts in shown.items():
            self.stdout.write(f"{name:>12}  " + "  ".join(f"{key} {value}" for key, value in facts.items()))

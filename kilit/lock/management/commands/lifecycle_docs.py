"""`manage.py lifecycle_docs`: draw every lifecycle into docs/lifecycle.md."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from kilit.lock.diagrams import document, lifecycle_models


class Command(BaseCommand):
    help = "Draw every lifecycle into docs/lifecycle.md."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--check", action="store_true", help="fail when the page is out of date")

    def handle(self, *args: Any, **options: Any) -> None:
        path = settings.BASE_DIR / "docs" / "lifecycle.md"
        text = document(lifecycle_models())
        if not options["check"]:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            raise CommandError("docs/lifecycle.md is out of date: run manage.py lifecycle_docs")

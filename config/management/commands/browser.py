"""`manage.py browser`: find or install the headless Chromium that renders PDFs."""

from typing import Any

from django.core.management.base import BaseCommand

from pdfjobs.browser import find_browser, install_browser

OFF = (
    "No headless Chromium was found and none could be installed: PDFs are off, all else works."
    " Install Debian's chromium-headless-shell, or set KILIT_CHROMIUM to its binary."
)


class Command(BaseCommand):
    help = "Find or install the headless Chromium that renders PDFs."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        found = find_browser()
        if found is None:
            self.stdout.write("Installing a headless Chromium for PDFs …")
            found = install_browser()
        self.stdout.write(f"PDFs are rendered by {found}" if found else self.style.WARNING(OFF))

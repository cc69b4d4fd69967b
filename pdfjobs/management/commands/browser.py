"""`manage.py browser`: find or install the headless Chromium that renders PDFs."""

from django.core.management.base import BaseCommand

from pdfjobs.browser import PACKAGE, find_browser, install_browser, may_install_packages

DISABLED = (
    "Headless Chromium was not found and could not be installed. PDFs are disabled; everything else works."
    " Install Debian's chromium-headless-shell, or set KILIT_CHROMIUM to a Chromium binary."
)


class Command(BaseCommand):
    help = "Find or install the headless Chromium that renders PDFs."
    requires_system_checks = ()

    def handle(self, *args: object, **options: object) -> None:
        path = find_browser()
        if path is None:
            self.stdout.write("Installing headless Chromium for PDFs, by Playwright into its folder …")
            if may_install_packages():
                self.stdout.write(f"If that fails, apt-get installs Debian's {PACKAGE}, as you are root.")
            path = install_browser()
        self.stdout.write(f"Rendering PDFs with {path}" if path else self.style.WARNING(DISABLED))

"""Finds the headless Chromium that renders PDFs, or installs one.

Only the headless shell is looked for: it is several times faster than the full browser, and gives other bytes.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

PACKAGE = "chromium-headless-shell"
INSTALL_LIMIT = 300  # seconds


def find_browser() -> Path | None:
    """Return the binary: KILIT_CHROMIUM, else Playwright's own, else Debian's."""
    if named := os.environ.get("KILIT_CHROMIUM"):
        return Path(named) if Path(named).is_file() else None
    return _playwrights_own() or _debians()


def install_browser() -> Path | None:
    """Try Playwright's download, then Debian's package; return what there is afterwards."""
    if found := find_browser():
        return found
    _run([sys.executable, "-m", "playwright", "install", PACKAGE])
    if (found := _playwrights_own()) or not shutil.which("apt-get") or os.geteuid() != 0:
        return found
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    _run(["apt-get", "update", "--quiet=2"], environment)
    _run(["apt-get", "install", "--yes", "--quiet=2", "--no-install-recommends", PACKAGE], environment)
    return _debians()


def _playwrights_own() -> Path | None:
    named = os.environ.get("PLAYWRIGHT_BROWSERS_PATH")
    folders = [named] if named else ["~/.cache/ms-playwright", "~/Library/Caches/ms-playwright"]
    pattern = "chromium_headless_shell-*/*/*headless?shell*"
    found = sorted(path for folder in folders for path in Path(folder).expanduser().glob(pattern))
    return next((path for path in reversed(found) if os.access(path, os.X_OK) and path.is_file()), None)


_debians_own: Path | None = None  # asking dpkg takes longer than all else that a request for a PDF does


def _debians() -> Path | None:
    global _debians_own  # noqa: PLW0603
    # The name on PATH is a shell wrapper that does not exec: killing it would leave the browser alive. The package
    # keeps the binary itself under its lib folder.
    if not shutil.which("dpkg-query"):
        return None
    if _debians_own and _debians_own.is_file():
        return _debians_own
    listed = subprocess.run(["dpkg-query", "--listfiles", PACKAGE], capture_output=True, text=True, check=False)
    paths = [Path(line) for line in listed.stdout.splitlines() if line.startswith("/usr/lib/")]
    _debians_own = next((path for path in paths if path.name == PACKAGE and path.is_file()), None)
    return _debians_own


def _run(command: list[str], environment: dict[str, str] | None = None) -> None:
    try:
        subprocess.run(command, env=environment, capture_output=True, timeout=INSTALL_LIMIT, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return  # the caller looks whether there is a browser, and says so

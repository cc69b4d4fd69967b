"""Finds or installs the headless Chromium that renders PDFs.

Only the headless shell is used: it is several times faster than the full browser, and its output differs.
"""

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

PACKAGE = "chromium-headless-shell"
INSTALL_LIMIT = 300  # seconds


def find_browser() -> Path | None:
    """Return the path of KILIT_CHROMIUM, else of Playwright's browser, else of Debian's."""
    if named := os.environ.get("KILIT_CHROMIUM"):
        return Path(named) if Path(named).is_file() else None
    return _playwright_browser() or _debian_browser()


def may_install_packages() -> bool:
    return bool(shutil.which("apt-get")) and os.geteuid() == 0


def install_browser() -> Path | None:
    _run([sys.executable, "-m", "playwright", "install", PACKAGE])
    if (path := _playwright_browser()) or not may_install_packages():
        return path
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    _run(["apt-get", "update", "--quiet=2"], environment)
    _run(["apt-get", "install", "--yes", "--quiet=2", "--no-install-recommends", PACKAGE], environment)
    return _debian_browser()


def _playwright_browser() -> Path | None:
    named = os.environ.get("PLAYWRIGHT_BROWSERS_PATH")
    folders = [named] if named else ["~/.cache/ms-playwright", "~/Library/Caches/ms-playwright"]
    pattern = "chromium_headless_shell-*/*/*headless?shell*"
    paths = sorted(path for folder in folders for path in Path(folder).expanduser().glob(pattern))
    return next((path for path in reversed(paths) if os.access(path, os.X_OK) and path.is_file()), None)


_debian_path: Path | None = None  # cached: dpkg takes longer than the rest of a request


def _debian_browser() -> Path | None:
    global _debian_path
    # The name on PATH is a shell wrapper that does not exec: killing it would leave the browser running. The binary
    # itself is in the package's lib folder.
    if not shutil.which("dpkg-query"):
        return None
    if _debian_path and _debian_path.is_file():
        return _debian_path
    listed = subprocess.run(["dpkg-query", "--listfiles", PACKAGE], capture_output=True, text=True, check=False)
    paths = [Path(line) for line in listed.stdout.splitlines() if line.startswith("/usr/lib/")]
    _debian_path = next((path for path in paths if path.name == PACKAGE and path.is_file()), None)
    return _debian_path


def _run(command: list[str], environment: dict[str, str] | None = None) -> None:
    with suppress(OSError, subprocess.TimeoutExpired):  # the caller checks whether there is a browser
        subprocess.run(command, env=environment, capture_output=True, timeout=INSTALL_LIMIT, check=False)

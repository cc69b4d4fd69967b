"""Which Chromium renders, and how it is started."""

import logging
import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from pdfjobs.browser import PACKAGE, find_browser
from pdfjobs.rendering import fonts
from pdfjobs.rendering.errors import RenderError
from pdfjobs.states import ErrorCode

# Raised when our side of the rendering gives other bytes for the same input, so that old jobs are not answered for new.
REVISION = 1
LAUNCH_LIMIT = 10.0  # seconds
FLAGS = [
    "--font-render-hinting=none",  # glyphs sit where the font says, not where the screen's grid is
    "--lang=en-US",
    # The network is cut in four more ways (see session.py); these two keep even names from being looked up.
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--dns-prefetch-disable",
    # Pages draw frames only when asked, which nobody does: they are printed, not shown (see tab.py).
    "--enable-begin-frame-control",
]
INSTALL_WORDS = (
    f"no {PACKAGE} was found. Run `manage.py browser`, or install Debian's package `{PACKAGE}`, "
    "or name the binary in KILIT_CHROMIUM"
)
logger = logging.getLogger(__name__)


def browser_path() -> Path:
    """Return the browser, or say what to install."""
    if found := find_browser():
        return found
    raise RenderError(ErrorCode.UNSUPPORTED_PLATFORM, f"PDFs cannot be rendered here: {INSTALL_WORDS}.")


def engine_version() -> str:
    """Return what decides the bytes besides the document: the browser's version and our own revision."""
    path = browser_path()
    looked_at = path.stat()
    return f"{_told_version(path, looked_at.st_mtime_ns, looked_at.st_size)}; revision {REVISION}"


@cache
def _told_version(path: Path, mtime: int, size: int) -> str:
    """Ask the binary once for as long as it stays the same file; it prints its version and starts nothing."""
    try:
        told = subprocess.run(
            [str(path), "--version"], capture_output=True, text=True, timeout=LAUNCH_LIMIT, check=True, env=_bare()
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise RenderError(ErrorCode.UNSUPPORTED_PLATFORM, f"{path} does not run ({error}): {INSTALL_WORDS}.") from None
    return told.stdout.strip()


def launch_arguments() -> dict[str, Any]:
    """Return how Playwright is to start the browser."""
    if warning := sandbox_warning():
        _warn_once(warning)
    return {
        "executable_path": browser_path(),
        "args": FLAGS,
        "chromium_sandbox": _sandboxed(),
        "timeout": LAUNCH_LIMIT * 1000,
        "env": _bare() | {"FONTCONFIG_FILE": str(fonts.configuration())},
        # The worker's own signals end the browser; its handlers would end the worker too.
        "handle_sigint": False,
        "handle_sigterm": False,
        "handle_sighup": False,
    }


def sandbox_warning() -> str | None:
    """Return words for the operator when Chromium runs without its sandbox."""
    if _sandboxed():
        return None
    if os.geteuid() == 0:
        return _(
            "Chromium renders PDFs without its sandbox, because workers run as root: run them as an ordinary user."
        )
    return _("Chromium renders PDFs without its sandbox, because KILIT_PDF_SANDBOX is off.")


def _sandboxed() -> bool:
    return bool(settings.PDF_SANDBOX) and os.geteuid() != 0


@cache
def _warn_once(warning: str) -> None:
    logger.warning(warning)


def _bare() -> dict[str, str]:
    """Return an environment without our secrets: the browser needs none of them."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH") if name in os.environ}
    return kept | {"LANG": "C.UTF-8", "TZ": "UTC"}

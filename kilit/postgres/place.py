"""Says where locks, data and socket may live without opening any folder we did not make."""

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

# Where root puts what the service user must reach when the installation itself is closed to that user.
OPEN_PLACE = Path("/var/lib/kilit")
OPEN_PLACE_README = "Kilit keeps data here for installations whose own folder is closed to PostgreSQL.\n"

STARTING_LOCK = "starting.lock"
USING_LOCK = "using.lock"
DATA = "data"
NOTE = "data-is-in.txt"

# The shortest limit among our systems (macOS) less the name of the socket and the closing zero byte.
LONGEST_SOCKET_FOLDER = 104 - 1 - len("/.s.PGSQL.5432")


def home_of(folder: Path) -> Path:
    """Return where the data of this folder is or would be, making nothing."""
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
    # A missing place is an error, not a reason to begin with an empty database.
    if home != folder and (home.parent != OPEN_PLACE or not home.is_dir()):
        raise ImproperlyConfigured(
            f"{note} says the data is in {home}, which is not there: bring it back, or delete the note to "
            "begin with an empty database."
        )
    return home


def settle(folder: Path) -> Path:
    """Return the folder for locks and data, made if missing: this one, or one that PostgreSQL can reach."""
    if not folder.exists():
        # Root's is 0711: the service user must pass through it to the data, which is 0700.
        make_folder(folder, mode=0o711 if os.geteuid() == 0 else 0o700, first_file=STARTING_LOCK)
    home = home_of(folder)
    is_settled = home != folder or (folder / DATA).exists()
    if is_settled or os.geteuid() != 0 or account_for(folder).can_enter(folder):
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
    """Return the folder that every user of the machine can enter, made if missing."""
    if not OPEN_PLACE.exists():
        make_folder(OPEN_PLACE, mode=0o755, first_file="README", text=OPEN_PLACE_README)
    return OPEN_PLACE


def make_folder(path: Path, *, mode: int, first_file: str, text: str = "") -> None:
    """Make a folder that nobody ever sees with another mode, whatever the umask."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    (draft / first_file).write_text(text)
    (draft / first_file).chmod(mode & 0o666)
    draft.chmod(mode)
    try:
        # Processes race here. As no draft is empty, a rename never replaces the folder of the winner.
        draft.rename(path)
    except OSError:
        shutil.rmtree(draft)
        if not path.is_dir():
            raise


def socket_folder(data: Path, *, account: Account) -> Path:
    """Return where the socket goes: with the data or, if that path is unfit, in a private temporary one."""
    # libpq reads a comma as a list of hosts.
    if len(os.fsencode(data)) <= LONGEST_SOCKET_FOLDER and "," not in str(data):
        return data
    # A new name each time, so nobody can have made it first; clients read the name from postmaster.pid.
    prefix = f"kilit-{hashlib.sha256(os.fsencode(data)).hexdigest()[:8]}-"
    for parent in (Path(tempfile.gettempdir()), Path("/tmp")):  # noqa: S108
        fits = len(os.fsencode(parent / prefix)) + 8 <= LONGEST_SOCKET_FOLDER
        if fits and account.can_enter(parent):
            return account.make_private_folder(within=parent, prefix=prefix)
    raise ImproperlyConfigured(f"{data} is too long a path for a socket: set KILIT_VAR to a shorter one.")


def drop_socket_folder(folder: Path) -> None:
    """Remove a socket's private folder when the socket is gone; a data folder stays, as it is not empty."""
    # Never more than an empty folder: its name may come from a file that the server's user can write.
    with suppress(OSError):
        folder.rmdir()


def _name_of(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user id {user}"

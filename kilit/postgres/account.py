"""Says as which system user PostgreSQL runs, since it refuses to run as root."""

import os
import pwd
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from django.core.exceptions import ImproperlyConfigured

SERVICE_USER = "pgserver"

# The server gets none of our environment: it may hold secrets, and PGPORT or LC_ALL would change its ways.
ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}


class Outcome(NamedTuple):
    """What became of a command."""

    ok: bool
    last_line: str


@dataclass(frozen=True, kw_only=True)
class Account:
    """A system user to run commands as; without a user, the one we are."""

    user: int | None = None
    group: int | None = None
    groups: tuple[int, ...] | None = None

    def run(self, *command: str | Path, folder: Path = Path("/")) -> Outcome:
        """Run a command as this user, in a folder that we, not this user, enter."""
        # A file, not a pipe: what a command leaves running must not keep us waiting for its last word.
        with tempfile.TemporaryFile() as output:
            try:
                code = subprocess.run(
                    command,
                    cwd=folder,
                    env=ENVIRONMENT,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    user=self.user,
                    group=self.group,
                    extra_groups=self.groups,
                    umask=0o077,
                    check=False,
                ).returncode
            except OSError as error:
                return Outcome(ok=False, last_line=str(error))
            output.seek(0)
            lines = output.read().decode(errors="replace").strip().splitlines()
        return Outcome(ok=code == 0, last_line=lines[-1].strip() if lines else f"exit code {code}")

    def can_enter(self, folder: Path) -> bool:
        """Ask the system, which also knows access lists, whether this user may enter the folder."""
        return self.run("test", "-x", folder).ok

    def give(self, descriptor: int) -> None:
        """Make this user the owner of a file or folder that we have just made."""
        # By descriptor, never by path: in a folder of another user the path may lead elsewhere by now.
        if self.user is not None and self.group is not None:
            os.fchown(descriptor, self.user, self.group)

    def make_private_folder(self, *, within: Path, prefix: str) -> Path:
        """Make a folder with a new name that only this user (and root) can enter."""
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=within))
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            self.give(descriptor)
        finally:
            os.close(descriptor)
        return folder


def account_for(home: Path) -> Account:
    """Return who runs the server of this folder: its owner, or for root's folders the service user."""
    if os.geteuid() != 0:
        return Account()
    # Root may come by in a user's installation (sudo manage.py …): that user's server stays that user's.
    owner = home.stat().st_uid
    try:
        entry = pwd.getpwuid(owner) if owner else _service_user()
    except KeyError as error:
        raise ImproperlyConfigured(
            f"{home} belongs to user id {owner}, which has no name on this machine: change its owner, "
            "or set DATABASE_URL."
        ) from error
    groups = os.getgrouplist(entry.pw_name, entry.pw_gid)
    return Account(user=entry.pw_uid, group=entry.pw_gid, groups=tuple(groups))


def _service_user() -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(SERVICE_USER)
    except KeyError:
        outcome = Outcome(ok=False, last_line="this machine has no useradd")
        if useradd := shutil.which("useradd", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"):
            outcome = Account().run(
                useradd, "--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent",
                "--shell", "/bin/false", SERVICE_USER,
            )  # fmt: skip
    try:
        # Asked again whatever useradd said: another process may have been faster.
        return pwd.getpwnam(SERVICE_USER)
    except KeyError as error:
        raise ImproperlyConfigured(
            f"PostgreSQL does not run as root and the system user {SERVICE_USER} cannot be made "
            f"({outcome.last_line}): run as an ordinary user, or set DATABASE_URL."
        ) from error

"""The system user that PostgreSQL runs as, since it refuses to run as root."""

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

# The server gets none of our environment: it may hold secrets, and PGPORT or LC_ALL would change its behaviour.
ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}


class CommandResult(NamedTuple):
    ok: bool
    last_line: str


@dataclass(frozen=True, kw_only=True)
class Account:
    """A system user to run commands as; by default our own."""

    user: int | None = None
    group: int | None = None
    groups: tuple[int, ...] | None = None

    def run(self, *command: str | Path, folder: Path = Path("/")) -> CommandResult:
        """Run a command as this user, in a folder that this user need not be able to enter."""
        # A file, not a pipe: a daemon that the command starts would keep the pipe open, and us waiting.
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
                return CommandResult(ok=False, last_line=str(error))
            output.seek(0)
            lines = output.read().decode(errors="replace").strip().splitlines()
        return CommandResult(ok=code == 0, last_line=lines[-1].strip() if lines else f"exit code {code}")

    def can_enter(self, folder: Path) -> bool:
        """Ask the system, which also honours access control lists."""
        return self.run("test", "-x", folder).ok

    def give(self, descriptor: int) -> None:
        """Make this user the owner of a file or folder that we have just created."""
        # By descriptor, never by path: in another user's folder the path may point elsewhere by now.
        if self.user is not None and self.group is not None:
            os.fchown(descriptor, self.user, self.group)

    def make_private_folder(self, *, within: Path, prefix: str) -> Path:
        """Create a folder with a new name that only this user (and root) can enter."""
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=within))
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            self.give(descriptor)
        finally:
            os.close(descriptor)
        return folder


def account_for(home: Path) -> Account:
    if os.geteuid() != 0:
        return Account()
    # Root may run a command in a user's installation (sudo manage.py …); the server still belongs to that user.
    owner = home.stat().st_uid
    try:
        entry = pwd.getpwuid(owner) if owner else _service_user()
    except KeyError as error:
        raise ImproperlyConfigured(
            f"{home} belongs to user id {owner}, which does not exist on this machine: change its owner, "
            "or set DATABASE_URL."
        ) from error
    groups = os.getgrouplist(entry.pw_name, entry.pw_gid)
    return Account(user=entry.pw_uid, group=entry.pw_gid, groups=tuple(groups))


def _service_user() -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(SERVICE_USER)
    except KeyError:
        result = CommandResult(ok=False, last_line="this machine has no useradd")
        if useradd := shutil.which("useradd", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"):
            result = Account().run(
                useradd, "--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent",
                "--shell", "/bin/false", SERVICE_USER,
            )  # fmt: skip
    try:
        # Look again even if useradd failed: another process may have been faster.
        return pwd.getpwnam(SERVICE_USER)
    except KeyError as error:
        raise ImproperlyConfigured(
            f"PostgreSQL does not run as root and the system user {SERVICE_USER} cannot be created "
            f"({result.last_line}): run as an ordinary user, or set DATABASE_URL."
        ) from error

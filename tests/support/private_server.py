"""A PostgreSQL server of any version for one test run: in a temporary folder, on a socket, stopped at the end.

`make test-postgres` runs pytest with it: `python -m tests.support.private_server 15 tests/kilit/lock`.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import psycopg

from kilit.postgres.account import ENVIRONMENT, account_for
from kilit.postgres.binaries import bundled_programs
from tests.support.commands import ROOT
from tests.support.waiting import PATIENCE, wait_until

VERSIONS = (15, 16, 17, 18)
DEBIAN = Path("/usr/lib/postgresql")
USER = "kilit"
PORT = 5499  # not PostgreSQL's own: what ignores the address of the server must not find another one
INITDB = (f"--username={USER}", "--encoding=UTF8", "--locale=C.UTF-8", "--auth=trust", "--no-sync")
SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "port": PORT,
    "max_connections": 200,
    "random_page_cost": 1.1,  # as docs/scale.md recommends
    "max_wal_size": "2GB",
    "fsync": "off",
    "timezone": "UTC",
    "log_min_error_statement": "panic",
}
MISSING = (
    "No PostgreSQL {0} was found: install Debian's postgresql-{0}, or set PG_BIN to the folder of its programs "
    "(CONTRIBUTING.md says where to get one)."
)


def find_server(version: int) -> Path | None:
    """Return the folder of a server's programs: of PG_BIN, installed with Kilit, or Debian's."""
    given = [Path(os.environ["PG_BIN"])] if os.environ.get("PG_BIN") else []
    places = [*given, *bundled_programs(), DEBIAN / str(version) / "bin"]
    return next((place for place in places if version_of(place) == version), None)


def version_of(programs: Path) -> int | None:
    try:
        line = subprocess.run([programs / "postgres", "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return int(line.split()[2].partition(".")[0])


@contextmanager
def private_server(programs: Path) -> Iterator[Callable[[str], str]]:
    """Start a server of its own, return the URLs of its databases, and remove it afterwards."""
    room = Path(tempfile.mkdtemp(prefix="kilit-server-", dir="/tmp"))
    room.chmod(0o711)
    account = account_for(room)
    data = account.make_private_folder(within=room, prefix="data-")
    made = account.run(programs / "initdb", *INITDB, "--pgdata", data)
    assert made.ok, made.last_line
    options = [f"--{name}={value}" for name, value in {**SETTINGS, "unix_socket_directories": data}.items()]
    with (room / "log.txt").open("wb") as log:
        server = subprocess.Popen(
            [programs / "postgres", "-D", data, *options],
            env=ENVIRONMENT,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            user=account.user,
            group=account.group,
            extra_groups=account.groups,
        )

    def url(database: str) -> str:
        return f"postgres://{USER}@/{database}?host={quote(str(data), safe='')}&port={PORT}"

    try:
        wait_until(lambda: server.poll() is not None or answers(url("postgres")), every=0.1)
        assert server.poll() is None, (room / "log.txt").read_text()
        yield url
    finally:
        server.send_signal(signal.SIGINT)  # a fast shutdown
        server.wait(timeout=PATIENCE)
        shutil.rmtree(room, ignore_errors=True)


def answers(address: str) -> bool:
    try:
        psycopg.connect(address).close()
    except psycopg.OperationalError:
        return False
    return True


def main(version: str, *arguments: str) -> int:
    """Run pytest with a server of a version, or with that of PG_BIN."""
    given = os.environ.get("PG_BIN")
    programs = Path(given) if given else find_server(int(version))
    if programs is None or not version_of(programs):
        sys.exit(f"{given} has no program postgres." if given else MISSING.format(version))
    with private_server(programs) as url:
        environment = {**os.environ, "DATABASE_URL": url("kilit")}
        command = [sys.executable, "-m", "pytest", *arguments]
        return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""Debian's packages that a run needs, installed if root asks for it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

# What each package is needed for, by a program of it. PostgreSQL's own are in a folder for each version.
PROGRAMS = {"patroni": "patroni", "etcd": "etcd-server", "pgbouncer": "pgbouncer", "haproxy": "haproxy"}
VERSIONS = Path("/usr/lib/postgresql")
SEARCH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"  # an ordinary user's PATH lacks /usr/sbin
KEEP_STOPPED = Path("/usr/sbin/policy-rc.d")  # asked by Debian before a package starts its service


def missing(*, versions: Path = VERSIONS, search: str = SEARCH) -> list[str]:
    """Return the packages to install."""
    absent = [package for program, package in PROGRAMS.items() if not shutil.which(program, path=search)]
    return absent if newest(versions) else ["postgresql", *absent]


def newest(versions: Path = VERSIONS) -> Path | None:
    """Return the folder with the programs of the newest PostgreSQL."""
    found = [path.parent for path in versions.glob("*/bin/postgres")]
    return max(found, key=lambda folder: float(folder.parent.name), default=None)


def program(name: str) -> str:
    """Return the path of an installed program."""
    found = shutil.which(name, path=SEARCH)
    assert found, f"{name} is not installed"
    return found


def ensure() -> None:
    """Install what is missing, or exit with a sentence that says what to install."""
    packages = missing()
    if not packages:
        return
    command = ["apt-get", "install", "--yes", "--no-install-recommends", *packages]
    if os.geteuid() or not shutil.which("apt-get"):
        sys.exit(f"make ha needs Debian's packages {', '.join(packages)}. As root: {' '.join(command)}")
    install(command)
    if packages := missing():
        sys.exit(f"make ha needs {', '.join(packages)}, and apt-get could not install it.")


def install(command: list[str]) -> None:
    """Run apt-get, without starting the services of what it installs."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    ours = not KEEP_STOPPED.exists()
    if ours:
        KEEP_STOPPED.write_text("#!/bin/sh\nexit 101\n")
        KEEP_STOPPED.chmod(0o755)
    try:
        subprocess.run(["apt-get", "update", "--quiet"], env=environment, check=False)
        subprocess.run(command, env=environment, check=False)
    finally:
        if ours:
            KEEP_STOPPED.unlink(missing_ok=True)

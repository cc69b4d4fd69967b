"""`make` prepares a virtual environment that has uv, and nothing that Python brought along."""

import importlib.metadata
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support.commands import ROOT
from tests.support.waiting import PATIENCE

UV = (ROOT / "Makefile", ".venv/bin/uv")
# As on Debian without the package python3-venv.
WITHOUT_ENSUREPIP = """#!/bin/sh
test "$1" = -c || exit 1
exec {python} -c "
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name: find(name) if name != 'ensurepip' else None
$2"
"""


def make(folder: Path, *arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    ours = ("PIP_", "MAKE", "NODE_EXTRA_CA_CERTS")
    return subprocess.run(
        ["make", "--file", *map(str, arguments)],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if not name.startswith(ours)} | variables,
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
        check=False,
    )


def wheel_of_uv(folder: Path) -> None:
    """Pack the installed uv again, so that pip needs no package index."""
    distribution = importlib.metadata.distribution("uv")
    name = f"uv-{distribution.version}"
    tag = re.search(r"^Tag: (\S+)$", distribution.read_text("WHEEL") or "", re.MULTILINE)[1]
    record = []
    with zipfile.ZipFile(folder / f"{name}-{tag}.whl", "w") as wheel:
        for file in distribution.files or []:
            inside = f"{name}.data/scripts/{file.name}" if file.parts[0] == ".." else str(file)
            if file.name in ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json") or "__pycache__" in file.parts:
                continue
            wheel.write(file.locate(), inside)
            record.append(f"{inside},,")
        wheel.writestr(f"{name}.dist-info/RECORD", "\n".join([*record, f"{name}.dist-info/RECORD,,", ""]))


@pytest.mark.nightly  # it makes an environment
def test_the_environment_has_uv_but_no_pip_and_no_setuptools(tmp_path: Path) -> None:
    wheel_of_uv(tmp_path)

    made = make(tmp_path, *UV, f"PYTHON={sys._base_executable}", PIP_NO_INDEX="1", PIP_FIND_LINKS=str(tmp_path))

    assert made.returncode == 0, made.stderr
    packages = next((tmp_path / ".venv" / "lib").glob("python*")) / "site-packages"
    assert {path.name.partition("-")[0] for path in packages.iterdir()} == {"uv"}
    assert not list((tmp_path / ".venv" / "bin").glob("pip*"))
    assert subprocess.run([tmp_path / ".venv" / "bin" / "uv", "--version"], check=False).returncode == 0


def test_a_python_without_ensurepip_is_named_before_anything_is_made(tmp_path: Path) -> None:
    python = tmp_path / "python3"
    python.write_text(WITHOUT_ENSUREPIP.format(python=sys.executable))
    python.chmod(0o755)

    made = make(tmp_path, *UV, f"PYTHON={python}")

    assert "Kilit needs the venv module of Python with ensurepip; on Debian: apt install python3-venv" in made.stderr
    assert not (tmp_path / ".venv").exists()


@pytest.mark.parametrize("name", ["PIP_CERT", "NODE_EXTRA_CA_CERTS"])
def test_a_certificate_of_your_own_is_used_by_all_who_download(tmp_path: Path, name: str) -> None:
    (tmp_path / "print.mk").write_text(f"include {ROOT / 'Makefile'}\nprint:\n\t@echo ${{{name}}}\n")

    made = make(tmp_path, "print.mk", "print", SSL_CERT_FILE="/etc/proxy.pem")

    assert made.stdout.strip() == "/etc/proxy.pem"

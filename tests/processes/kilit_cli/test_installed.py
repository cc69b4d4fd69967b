"""The command line in an environment of its own, as `uv tool install` and pipx make one, without the server."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from kilit.access.models import ApiKey
from tests.support.commands import ROOT, fresh_environment
from tests.support.people import make_user
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)
UV = Path(sys.executable).with_name("uv")


def run(*command: object, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        list(map(str, command)),
        env=fresh_environment(**variables),
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
        check=False,
    )


def test_the_checkout_has_the_same_dependencies() -> None:
    own = tomllib.loads((ROOT / "kilit_cli" / "pyproject.toml").read_text())["project"]["dependencies"]
    server = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert own == server["optional-dependencies"]["cli"]
    assert server["requires-python"] == ">=3.11"


@pytest.mark.nightly
def test_it_is_installed_from_the_checkout_without_django(live_server, tmp_path: Path) -> None:
    python, kilit = tmp_path / "env" / "bin" / "python", tmp_path / "env" / "bin" / "kilit"
    key = ApiKey.objects.issue(make_user(), name="laptop")[1]
    home = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}

    for arguments in (
        ("venv", "--python", sys.executable, tmp_path / "env"),
        ("pip", "install", "--python", python, ROOT / "kilit_cli"),
    ):
        installed = run(UV, "--quiet", *arguments)
        assert installed.returncode == 0, installed.stderr
    packages = {
        package["name"] for package in json.loads(run(UV, "pip", "list", "--python", python, "--format", "json").stdout)
    }
    login = run(kilit, "login", live_server.url, KILIT_KEY=key, **home)
    stats = run(kilit, "stats", "--json", **home)

    assert "kilit-cli" in packages
    assert packages.isdisjoint({"django", "pydantic", "psycopg", "httpx", "kilit"})
    assert len(packages) < 12, packages
    assert login.returncode == 0, login.stderr
    assert key not in login.stdout + login.stderr
    assert (tmp_path / "kilit" / "login.json").stat().st_mode & 0o777 == 0o600
    assert json.loads(stats.stdout)["queues"]

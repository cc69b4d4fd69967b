"""A runner installed from its wheel, as on the OptiPlanning PC: its own packages, folder and settings."""

import subprocess
import sys
from pathlib import Path

from tests.support.commands import ROOT, fresh_environment
from tests.support.waiting import PATIENCE

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
        uv(*into, "--require-hashes", "-r", str(ROOT / "requirements-runner.txt"))
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

"""The commands in the documents run as they are, against a live server."""

import re
import shutil
import subprocess

import pytest

from tests.commands import ROOT, fresh_environment
from tests.workers.conftest import database_url

pytestmark = pytest.mark.django_db(transaction=True)


def commands(document: str) -> str:
    """Return a document's shell blocks as one script."""
    return "\n".join(re.findall(r"^```sh\n(.*?)^```$", (ROOT / document).read_text(), re.MULTILINE | re.DOTALL))


@pytest.mark.skipif(not shutil.which("curl"), reason="the documents speak curl, and this machine has none")
@pytest.mark.parametrize(
    ("document", "word"),
    [
        ("docs/oci-integrators.md", '"updated":1'),
        ("docs/oci-operators.md", "Recovered 0."),
        ("docs/orchestrator-integrators.md", "E_CANCELLED"),
        ("docs/orchestrator-operators.md", "Would release 0."),
    ],
)
def test_every_command_of(document: str, word: str, live_server, tmp_path, settings) -> None:
    settings.CRON_SECRET = "tick"
    # The documents are read in the repository's folder, and leave files in the reader's.
    for name in ("manage.py", ".venv", *(p.name for p in ROOT.iterdir() if (p / "__init__.py").exists())):
        (tmp_path / name).symlink_to(ROOT / name)
    environment = fresh_environment(
        KILIT=live_server.url,
        KILIT_VAR=str(tmp_path / "var"),
        DATABASE_URL=database_url(),
        KILIT_CRON_SECRET="tick",
        SECRET_KEY=settings.SECRET_KEY,
    )

    ended = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands(document)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert word in ended.stdout

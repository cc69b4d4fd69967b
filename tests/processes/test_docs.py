"""The commands in the documents run as they are, against a live server; those that take long, at night."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.commands import ROOT, fresh_environment
from tests.support.pdf_workers import real_workers
from tests.support.waiting import PATIENCE
from tests.support.workers import database_url

pytestmark = pytest.mark.django_db(transaction=True)


def commands(document: str) -> str:
    """Return a document's shell blocks as one script."""
    return "\n".join(re.findall(r"^```sh\n(.*?)^```$", (ROOT / document).read_text(), re.MULTILINE | re.DOTALL))


needs_curl = pytest.mark.skipif(
    not shutil.which("curl"), reason="the documents' commands call curl, which is not installed"
)


def run(document: str, live_server, folder: Path, settings) -> subprocess.CompletedProcess[str]:
    """Run a document's commands in a folder of the reader's own."""
    settings.CRON_SECRET = "tick"
    # The documents are read in the repository's folder, and leave files in the reader's.
    for name in ("manage.py", ".venv", *(p.name for p in ROOT.iterdir() if (p / "__init__.py").exists())):
        if not (folder / name).exists():
            (folder / name).symlink_to(ROOT / name)
    environment = fresh_environment(
        DJANGO_SETTINGS_MODULE="tests.settings",  # as the server's; each demo makes people, and their hashes are fast
        KILIT=live_server.url,
        KILIT_VAR=str(folder / "var"),
        DATABASE_URL=database_url(),
        KILIT_CRON_SECRET="tick",
        SECRET_KEY=settings.SECRET_KEY,
    )
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands(document)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE,  # the documents' own loops give up before
        check=False,
    )


@needs_curl
@pytest.mark.parametrize(
    ("document", "word"),
    [
        ("docs/agencies.md", '"newPeople":1'),
        ("docs/orchestrator-integrators.md", "E_CANCELLED"),
        pytest.param("docs/command-line.md", "job 0", marks=pytest.mark.nightly),
        pytest.param("docs/oci-integrators.md", '"updated":1', marks=pytest.mark.nightly),
        pytest.param("docs/oci-operators.md", "Recovered 0.", marks=pytest.mark.nightly),
        pytest.param("docs/orchestrator-operators.md", "Would release 0.", marks=pytest.mark.nightly),
        pytest.param("docs/webhooks.md", "Would send 0 again and 0 that it has not", marks=pytest.mark.nightly),
    ],
)
@pytest.mark.by_day(1)
def test_every_command_of(document: str, word: str, live_server, tmp_path, settings) -> None:
    ended = run(document, live_server, tmp_path, settings)

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert word in ended.stdout


@needs_curl
@pytest.mark.nightly
def test_every_command_of_the_pdf_queue_with_a_worker(live_server, tmp_path, settings) -> None:
    options = {"location": tmp_path / "var" / "artifacts"}
    artifacts = {"BACKEND": "pdfjobs.storage.folder.FolderStorage", "OPTIONS": options}
    settings.STORAGES = {**settings.STORAGES, "artifacts": artifacts}

    with real_workers(tmp_path / "var"):
        guide = run("docs/pdf-integrators.md", live_server, tmp_path, settings)
        runbook = run("docs/pdf-operators.md", live_server, tmp_path, settings)

    assert guide.returncode == 0, guide.stdout + guide.stderr
    assert "%PDF-304\n%PDF-" in guide.stdout
    assert guide.stdout.endswith("expired\n")
    assert runbook.returncode == 0, runbook.stdout + runbook.stderr
    assert "conversion_report is a PDF." in runbook.stdout

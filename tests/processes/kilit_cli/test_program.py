"""The program itself: a document from a real browser, completion in real shells, interruption and pipes."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from kilit.access.models import ApiKey
from tests.support.commands import ROOT, fresh_environment
from tests.support.pdf_jobs import body, keep_files_in, some_user
from tests.support.pdf_workers import real_workers
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)


def start(*arguments: object, **variables: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "kilit_cli", *map(str, arguments)]
    environment = fresh_environment(PYTHONPATH=str(ROOT), **variables)
    return subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def run(*arguments: object, **variables: str) -> tuple[int, bytes, str]:
    process = start(*arguments, **variables)
    out, err = process.communicate(timeout=4 * PATIENCE)
    return process.returncode, out, err.decode()


@pytest.mark.nightly  # by day, without a browser
def test_a_document_is_rendered_and_stored(live_server, tmp_path: Path, settings) -> None:
    keep_files_in(settings, tmp_path / "var" / "artifacts")
    key = ApiKey.objects.issue(some_user(), name="laptop")[1]
    (tmp_path / "invoice.json").write_text(json.dumps(body()))
    (tmp_path / "broken.json").write_text(json.dumps({**body(), "variables": {}}))
    variables = {"KILIT_URL": live_server.url, "KILIT_KEY": key}

    with real_workers(tmp_path / "var"):
        stored = run("pdf", tmp_path / "invoice.json", "-o", tmp_path / "out.pdf", "--json", **variables)
        piped = run("pdf", tmp_path / "invoice.json", "-o", "-", **variables)
        refused = run("pdf", tmp_path / "broken.json", "-o", tmp_path / "no.pdf", **variables)

    answer = json.loads(stored[1])
    content = (tmp_path / "out.pdf").read_bytes()
    assert (stored[0], answer["status"], answer["size"]) == (0, "succeeded", len(content)), stored
    assert piped == (0, content, "")
    assert content.startswith(b"%PDF-")
    assert refused[0] == 1
    assert "variables." in refused[2]
    assert not (tmp_path / "no.pdf").exists()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_take_the_completion_script(shell: str, tmp_path: Path) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    code, script, _ = run("completion", shell)
    (tmp_path / "script").write_bytes(script)

    checked = subprocess.run([shell, "-n", tmp_path / "script"], capture_output=True, timeout=PATIENCE, check=False)

    assert (code, checked.returncode, checked.stderr) == (0, 0, b"")


def test_bash_completes_a_command(tmp_path: Path) -> None:
    (tmp_path / "script").write_bytes(run("completion", "bash")[1])
    asked = f"source {tmp_path}/script; COMP_WORDS=(kilit mark); COMP_CWORD=1; _kilit; echo ${{COMPREPLY[0]}}"

    ended = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, timeout=PATIENCE, check=False)

    assert ended.stdout == "mark-failed\n", ended.stderr


def test_ctrl_c_ends_it_without_a_traceback() -> None:
    # A program inherits that a signal is ignored, as by what a shell runs in the background; not what handles it.
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(PATIENCE)
        process = start("stats", KILIT_URL=f"http://127.0.0.1:{silent.getsockname()[1]}", KILIT_KEY="kilit_key")
        signal.signal(signal.SIGINT, usual)
        with silent.accept()[0]:
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=PATIENCE)

    assert (process.returncode, out, err) == (130, b"", b"")


def test_a_reader_that_goes_away_is_no_error() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)

    with os.fdopen(write_end) as gone:
        process = subprocess.run(
            [sys.executable, "-m", "kilit_cli", "completion", "bash"],
            env=fresh_environment(PYTHONPATH=str(ROOT)),
            stdout=gone,
            stderr=subprocess.PIPE,
            timeout=PATIENCE,
            check=False,
        )

    assert b"Traceback" not in process.stderr
    assert b"Exception ignored" not in process.stderr

"""`make audit` finds what the index lists, and never takes silence for good news."""

import json
import threading
from collections.abc import Callable, Iterator
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.tools.audit import CLEAN, LOCKS, PIN, ROOT, UNKNOWN, VULNERABLE, Audit, audit

TODAY = date(2026, 11, 17)
BY_ONE_DATABASE = {"id": "PYSEC-2026-7", "aliases": ["CVE-2026-1234"], "fixed_in": ["1.1"], "withdrawn": None}
BY_ANOTHER = {"id": "GHSA-aaaa-bbbb-cccc", "aliases": ["CVE-2026-1234"], "fixed_in": [], "withdrawn": None}
WITHDRAWN = {"id": "PYSEC-2026-8", "aliases": [], "fixed_in": [], "withdrawn": "2026-10-01T00:00:00Z"}

Answers = dict[str, Any]


def about(version: str, *vulnerabilities: dict[str, Any]) -> dict[str, Any]:
    return {"info": {"version": version}, "vulnerabilities": vulnerabilities}


@pytest.fixture
def answers() -> Answers:
    """Return what the index answers, by path: a page, or a status."""
    return {"/pypi/good/2.0/json": about("2.0"), "/pypi/bad/1.0/json": about("1.0")}


@pytest.fixture
def index(answers: Answers) -> Iterator[str]:
    class StandInIndex(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = answers.get(self.path, 404)
            self.send_response(answer if isinstance(answer, int) else 200)
            self.end_headers()
            self.wfile.write(b"" if isinstance(answer, int) else json.dumps(answer).encode())

        def log_message(self, *arguments: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), StandInIndex) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def audited(index: str, tmp_path: Path) -> Callable[..., Audit]:
    """Return a function that audits two pinned packages; `bad` is pinned in two files, for one system only."""
    for lock in LOCKS:
        (tmp_path / lock).write_text(
            "good[extra]==2.0 \\\n    --hash=sha256:00\nbad==1.0 ; sys_platform == 'win32' \\\n"
        )

    def run(accepted: str = "", address: str = index) -> Audit:
        (tmp_path / "pyproject.toml").write_text(f"[tool.audit]\naccepted = [{accepted}]\n")
        return audit(tmp_path, address, TODAY)

    return run


def test_packages_without_vulnerabilities_are_clean(audited: Callable[..., Audit], answers: Answers) -> None:
    answers["/pypi/bad/1.0/json"] = about("1.0", WITHDRAWN)

    result = audited()

    assert result.exit_code == CLEAN
    assert str(result) == "2 packages, 0 known vulnerabilities."


def test_a_vulnerability_is_listed_once_with_its_fix(audited: Callable[..., Audit], answers: Answers) -> None:
    answers["/pypi/bad/1.0/json"] = about("1.0", BY_ANOTHER, BY_ONE_DATABASE)

    result = audited()

    assert result.exit_code == VULNERABLE
    assert [line.split() for line in result.found] == [["bad", "1.0", "CVE-2026-1234", "fixed", "in", "1.1"]]
    assert "2 packages, 1 known vulnerabilities." in str(result)


@pytest.mark.parametrize("name", ["CVE-2026-1234", "PYSEC-2026-7"])
def test_an_accepted_one_is_listed_with_its_reason(name: str, audited: Callable[..., Audit], answers: Answers) -> None:
    answers["/pypi/bad/1.0/json"] = about("1.0", BY_ONE_DATABASE)

    result = audited(f'{{ id = "{name}", reason = "we never parse YAML", until = 2026-11-17 }}')

    assert result.exit_code == CLEAN
    assert "until 2026-11-17: we never parse YAML" in str(result)


def test_an_acceptance_ends_on_its_day(audited: Callable[..., Audit], answers: Answers) -> None:
    answers["/pypi/bad/1.0/json"] = about("1.0", BY_ONE_DATABASE)

    result = audited('{ id = "CVE-2026-1234", reason = "not yet", until = 2026-11-16 }')

    assert result.exit_code == VULNERABLE
    assert "was accepted until 2026-11-16" in str(result)


def test_an_index_out_of_reach_is_not_clean(audited: Callable[..., Audit]) -> None:
    result = audited(address="http://127.0.0.1:1")

    assert result.exit_code == UNKNOWN
    assert "no answer: " in str(result)
    assert "2 packages could not be looked up" in str(result)


@pytest.mark.parametrize("answer", [404, 500, [], {}, {"info": {"version": "1.0"}}, about("1.0", {})])
def test_an_answer_without_the_list_is_not_clean(answer: Any, audited: Callable[..., Audit], answers: Answers) -> None:
    answers["/pypi/bad/1.0/json"] = answer

    assert audited().exit_code == UNKNOWN


def test_the_page_of_a_project_counts_for_its_newest_version(audited: Callable[..., Audit], answers: Answers) -> None:
    del answers["/pypi/bad/1.0/json"]

    answers["/pypi/bad/json"] = about("1.0", BY_ONE_DATABASE)
    assert audited().exit_code == VULNERABLE

    answers["/pypi/bad/json"] = about("1.1")
    result = audited()
    assert result.exit_code == UNKNOWN
    assert "the index describes 1.1 only" in str(result)


def test_every_line_of_our_lock_files_is_read() -> None:
    """A package that is pinned in a way the audit does not read would never be looked up."""
    for name in LOCKS:
        text = (ROOT / name).read_text()
        packages = [line for line in text.splitlines() if line and not line.startswith((" ", "#"))]
        assert len(packages) == len(PIN.findall(text)) > 10

"""Where the key is kept, who can read it, and to whom it is sent."""

import io
import json
import os
from pathlib import Path

import pytest

from tests.support.command_line import http, strange_server

KEY = "kilit_0123456789abcdef"
ANSWER = {"user": "ayse", "key": "laptop", "scopes": ["read"], "verbs": [{"name": "error_groups"}], "queues": []}
NOT_LOGGED_IN = "You are not logged in."


@pytest.fixture
def file(tmp_path) -> Path:
    return tmp_path / "config" / "kilit" / "login.json"


@pytest.fixture
def server():
    with strange_server(http(json.dumps(ANSWER).encode())) as server:
        yield server


@pytest.fixture
def key_on_stdin(monkeypatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{KEY}\n"))


@pytest.mark.usefixtures("key_on_stdin")
def test_a_login_is_checked_and_kept_where_only_its_user_can_read_it(kilit, server, file) -> None:
    ended = kilit("login", server.address)

    assert ended.code == 0, ended.err
    assert "as ayse. The key may read." in ended.out
    assert KEY not in ended.out + ended.err
    assert file.stat().st_mode & 0o777 == 0o600
    assert json.loads(file.read_text()) == {"address": server.address, "key": KEY}
    assert [path.name for path in file.parent.iterdir()] == ["login.json"]
    assert b"GET /api/ask HTTP/1.1" in server.requests[0]


@pytest.mark.usefixtures("key_on_stdin")
def test_a_key_that_is_refused_is_not_kept(kilit, file) -> None:
    error = {"code": "UNAUTHENTICATED", "message": "This key is unknown, expired or revoked."}
    with strange_server(http(json.dumps({"error": error}).encode(), "401 Unauthorized")) as server:
        ended = kilit("login", server.address)

    assert (ended.code, file.exists()) == (3, False)
    assert "This key is unknown" in ended.err


@pytest.mark.usefixtures("key_on_stdin")
def test_a_key_that_only_sends_can_log_in(kilit, file) -> None:
    error = {"code": "MISSING_SCOPE", "message": "…", "needed_scope": "read", "key_scopes": ["enqueue"]}
    with strange_server(http(json.dumps({"error": error}).encode(), "403 Forbidden")) as server:
        ended = kilit("login", server.address)

    assert (ended.code, file.exists()) == (0, True)
    assert "The key may enqueue." in ended.out


def test_logging_out_forgets_the_key(kilit, server, file, monkeypatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(KEY))
    kilit("login", server.address)

    assert kilit("logout").code == 0
    assert not file.exists()
    assert NOT_LOGGED_IN in kilit("stats").err
    assert kilit("logout").code == 0


def test_a_key_that_others_can_read_is_not_used(kilit, server, file) -> None:
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"address": server.address, "key": KEY}))
    file.chmod(0o640)

    ended = kilit("stats")

    assert (ended.code, server.requests) == (3, [])
    assert f"chmod 600 '{file}'" in ended.err


@pytest.mark.parametrize(
    "content", ["", "[]", "{", '{"address": 5, "key": "x"}', '{"address": "http://localhost"}', "\x00"]
)
def test_a_broken_file_is_named(kilit, file, content: str) -> None:
    file.parent.mkdir(parents=True)
    file.write_text(content)
    file.chmod(0o600)

    ended = kilit("stats")

    assert ended.code == 3
    assert f"{file} cannot be read." in ended.err


def test_the_kept_key_is_not_sent_to_the_server_of_the_environment(kilit, file, monkeypatch) -> None:
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"address": "https://kilit.example", "key": KEY}))
    file.chmod(0o600)
    with strange_server(http(b"{}")) as other:
        monkeypatch.setenv("KILIT_URL", other.address)
        ended = kilit("stats")

    assert (ended.code, other.requests) == (3, [])
    assert "KILIT_URL is set, and KILIT_KEY is not." in ended.err


def test_a_key_of_the_environment_goes_to_the_kept_address(kilit, server, file, monkeypatch) -> None:
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"address": server.address, "key": KEY}))
    file.chmod(0o600)
    monkeypatch.setenv("KILIT_KEY", "kilit_other")

    kilit("stats")

    assert b"kilit_other" in server.requests[0]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("localhost:8000", "http://localhost:8000"),
        ("[::1]:8000/", "http://[::1]:8000"),
        ("kilit.example/base/", "https://kilit.example/base"),
        (" http://kilit.example ", "http://kilit.example"),
    ],
)
def test_addresses_are_completed(text: str, address: str) -> None:
    from kilit_cli.logins import read_address

    assert read_address(text) == address


@pytest.mark.parametrize(
    "text",
    ["ftp://x", "https://", "https://a:b@c", "https://x?y", "https://x:y", "https://x\n y", "https://[", "file:///x"],
)
@pytest.mark.usefixtures("key_on_stdin")
def test_what_is_no_address_of_a_server_is_refused(kilit, text: str) -> None:
    ended = kilit("login", text)

    assert ended.code == 2, ended
    assert "is no address of a server" in ended.err


@pytest.mark.parametrize("key", ["", "two words", "kilit_\x1b[31m", "x\ny: z", "ş"])
def test_what_is_no_key_is_refused(kilit, key: str, monkeypatch) -> None:
    monkeypatch.setenv("KILIT_URL", "http://localhost:1")
    monkeypatch.setattr("sys.stdin", io.StringIO(key))
    if "\n" in key:
        monkeypatch.setenv("KILIT_KEY", key)

    ended = kilit("login")

    assert ended.code == 2
    assert "This is not an API key" in ended.err


@pytest.mark.usefixtures("key_on_stdin")
def test_an_unencrypted_address_of_another_machine_is_remarked_on(kilit, server, monkeypatch) -> None:
    monkeypatch.setattr("kilit_cli.logins.LOCAL_HOSTS", ())

    ended = kilit("login", server.address)

    assert ended.code == 0
    assert "travel unencrypted" in ended.err


def test_the_file_is_in_the_users_folder_on_each_system(monkeypatch, tmp_path) -> None:
    from kilit_cli.logins import login_file

    monkeypatch.setenv("XDG_CONFIG_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert login_file() == tmp_path / ".config" / "kilit" / "login.json"

    monkeypatch.setenv("APPDATA", str(tmp_path / "Roaming"))
    monkeypatch.setattr("kilit_cli.logins.IS_WINDOWS", True)
    assert login_file() == tmp_path / "Roaming" / "kilit" / "login.json"
    assert os.name == "posix"

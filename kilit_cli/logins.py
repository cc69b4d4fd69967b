"""The address of a server and a key: from KILIT_URL and KILIT_KEY, or a file that only its user may read."""

import json
import os
import re
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit

from kilit_cli.failures import ExitCode, Failure

IS_WINDOWS = os.name == "nt"
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
KEY = re.compile(r"[!-~]{1,200}")  # what a header may hold
HOW_TO = "Log in first: kilit login https://kilit.example. Scripts set KILIT_URL and KILIT_KEY."


@dataclass(frozen=True)
class SavedLogin:
    address: str
    key: str

    @property
    def is_encrypted(self) -> bool:
        return self.address.startswith("https://") or urlsplit(self.address).hostname in LOCAL_HOSTS

    def save(self) -> Path:
        file = login_file()
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=file.parent)  # with mode 600 from the start; Windows protects the folder
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(asdict(self), stream)
        return Path(name).replace(file)


def login_file() -> Path:
    folder = os.environ.get("APPDATA" if IS_WINDOWS else "XDG_CONFIG_HOME")
    return (Path(folder) if folder else Path.home() / ".config") / "kilit" / "login.json"


def current_login() -> SavedLogin:
    address, key = os.environ.get("KILIT_URL", ""), os.environ.get("KILIT_KEY", "")
    if address and key:
        return SavedLogin(read_address(address), read_key(key))
    saved = _saved()
    # The stored key of another server is not for this one.
    if saved is None or (address and read_address(address) != saved.address):
        message = "KILIT_URL is set, and KILIT_KEY is not." if address else "You are not logged in."
        raise Failure(message, HOW_TO, ExitCode.NO_ACCESS)
    return SavedLogin(saved.address, read_key(key)) if key else saved


def read_address(text: str) -> str:
    """Return an address without a slash at its end; a host alone is https, of this machine http."""
    text = text.strip()
    if "://" not in text:
        is_local = re.match(r"(localhost|127\.0\.0\.1|\[::1\])(:|/|$)", text)
        text = f"{'http' if is_local else 'https'}://{text}"
    try:
        parts = urlsplit(text)
        is_valid = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1)
    except ValueError:
        is_valid = False
    if not is_valid or parts.username or parts.query or parts.fragment or not text.isprintable() or " " in text:
        raise Failure(f"{text!r} is no address of a server, such as https://kilit.example.", "", ExitCode.USAGE)
    return text.rstrip("/")


def read_key(text: str) -> str:
    if not KEY.fullmatch(text := text.strip()):
        message = "This is not an API key: a key is one word, which begins with kilit_."
        raise Failure(message, "Issue one in the console: API keys → Add.", ExitCode.USAGE)
    return text


def _saved() -> SavedLogin | None:
    """Read the file; as with SSH, a key that others can read is not used."""
    file = login_file()
    try:
        if not IS_WINDOWS and file.stat().st_mode & 0o077:
            raise Failure(f"Others can read your key in {file}.", f"Run: chmod 600 '{file}'", ExitCode.NO_ACCESS)
        content = json.loads(file.read_text(encoding="utf-8"))
        return SavedLogin(read_address(content["address"]), read_key(content["key"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, LookupError, AttributeError):
        raise Failure(f"{file} cannot be read.", "Log in again: kilit login", ExitCode.NO_ACCESS) from None

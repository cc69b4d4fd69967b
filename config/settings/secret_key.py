"""The secret key of a local installation, in the data folder; production sets its own."""

import secrets
from contextlib import suppress
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from config.settings.environment import BASE_DIR, Environment
from kilit.files import place, write_temp

FILE_NAME = "secret_key"


def read_secret_key(folder: Path) -> str:
    with suppress(FileNotFoundError):
        return (folder / FILE_NAME).read_text().strip()
    return ""


def make_secret_key(folder: Path) -> None:
    """Write a key unless there is one. Of two processes at once, one wins and both read its key."""
    if read_secret_key(folder):
        return
    folder.mkdir(parents=True, exist_ok=True)
    temp = write_temp(folder, FILE_NAME, [f"{secrets.token_urlsafe(50)}\n".encode()], mode=0o600)
    try:
        with suppress(FileExistsError):
            place(temp, folder / FILE_NAME)
    finally:
        temp.unlink(missing_ok=True)


def make_local_secret_key() -> None:
    """Make the key before settings are read, except in production or when SECRET_KEY is set."""
    env = Environment(BASE_DIR)
    if env.flag("KILIT_PRODUCTION", default=False) or env.text("SECRET_KEY", ""):
        return
    folder = env.folder("KILIT_VAR", default=BASE_DIR / "var")
    try:
        make_secret_key(folder)
    except OSError as error:
        raise ImproperlyConfigured(f"KILIT_VAR={folder} is not writable: {error.strerror}.") from None

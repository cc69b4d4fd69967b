"""The secret key of a local installation, kept in the data folder; production brings its own."""

import os
import secrets
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from config.environment import Environment

BASE_DIR = Path(__file__).resolve().parent.parent
FILE_NAME = "secret_key"


def read_secret_key(folder: Path) -> str:
    """Return the key, or nothing when there is none yet."""
    try:
        return (folder / FILE_NAME).read_text().strip()
    except FileNotFoundError:
        return ""


def make_secret_key(folder: Path) -> None:
    """Write a key unless there is one; of two processes at once, one wins and both read its key."""
    if read_secret_key(folder):
        return
    folder.mkdir(parents=True, exist_ok=True)
    aside = folder / f"{FILE_NAME}.{os.getpid()}"
    aside.touch(mode=0o600)
    aside.write_text(secrets.token_urlsafe(50) + "\n")
    try:
        # link() refuses when the name is taken, so the loser never overwrites a key already in use.
        os.link(aside, folder / FILE_NAME)
    except FileExistsError:
        pass
    finally:
        aside.unlink()


def make_local_secret_key() -> None:
    """Make the key before settings are read; in production, or with SECRET_KEY set, do nothing."""
    env = Environment(BASE_DIR)
    if env.flag("KILIT_PRODUCTION", default=False) or env.text("SECRET_KEY", ""):
        return
    folder = env.folder("KILIT_VAR", default=BASE_DIR / "var")
    try:
        make_secret_key(folder)
    except OSError as error:
        raise ImproperlyConfigured(f"KILIT_VAR={folder} cannot be written: {error.strerror}.") from None

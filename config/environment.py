"""Reads typed settings from the environment, and says in one line what is wrong with a bad one."""

from pathlib import Path
from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured

TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off"}


class Environment:
    """The process's environment, over an optional `.env` file beside manage.py."""

    def __init__(self, folder: Path) -> None:
        self._env = environ.Env()
        self._env.prefix = ""
        if (folder / ".env").is_file():
            environ.Env.read_env(folder / ".env")

    def text(self, name: str, default: str | None = None) -> str:
        """Return a string; without a default the variable is required and may not be empty."""
        value = str(self._env.str(name, default="")).strip()
        if value:
            return value
        if default is None:
            raise ImproperlyConfigured(f"{name} is not set; it is required here.")
        return default

    def flag(self, name: str, *, default: bool) -> bool:
        """Return a boolean; anything but the known words is refused, not read as false."""
        word = self.text(name, str(default)).lower()
        if word in TRUE | FALSE:
            return word in TRUE
        raise ImproperlyConfigured(f"{name}={word!r} is not a boolean: use true or false.")

    def number(self, name: str, *, default: int, least: int = 0, most: int | None = None) -> int:
        """Return a whole number within its bounds."""
        word = self.text(name, str(default))
        bounds = f"a whole number from {least}" + (f" to {most}" if most is not None else " upwards")
        try:
            value = int(word)
        except ValueError:
            raise ImproperlyConfigured(f"{name}={word!r} is not {bounds}.") from None
        if value < least or (most is not None and value > most):
            raise ImproperlyConfigured(f"{name}={word!r} is not {bounds}.")
        return value

    def one_of(self, name: str, choices: tuple[str, ...], *, default: str) -> str:
        """Return one of the listed words, upper case."""
        word = self.text(name, default).upper()
        if word in choices:
            return word
        raise ImproperlyConfigured(f"{name}={word!r} is not one of {', '.join(choices)}.")

    def words(self, name: str, *, default: list[str] | None = None) -> list[str]:
        """Return a comma-separated list; without a default it is required."""
        joined = None if default is None else ",".join(default)
        return [word.strip() for word in self.text(name, joined).split(",") if word.strip()]

    def folder(self, name: str, *, default: Path) -> Path:
        """Return an absolute path; it need not exist yet."""
        return Path(self.text(name, str(default))).expanduser().absolute()

    def database(self, name: str) -> dict[str, Any]:
        """Return the Django database that a URL names; only PostgreSQL is supported."""
        wrong = ImproperlyConfigured(f"{name} is not of the form postgres://user:password@host:5432/name.")
        # Asked first: for another scheme the parser would print a warning with the password in it.
        if not self.text(name).startswith(("postgres://", "postgresql://")):
            raise wrong
        try:
            parsed: dict[str, Any] = self._env.db(name)
        except ValueError:
            raise wrong from None
        if not parsed.get("NAME"):
            raise wrong
        return parsed

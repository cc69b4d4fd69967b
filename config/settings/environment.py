"""Typed settings from the environment, with a one-line error for an invalid value."""

import re
from collections.abc import Collection
from contextlib import suppress
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from socket import AF_INET, AF_INET6, gethostname
from typing import Any
from unicodedata import normalize
from urllib.parse import unquote, urlsplit
from zoneinfo import available_timezones

import environ
import psutil
from django.core.exceptions import ImproperlyConfigured

TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off"}
HOST_NAME = re.compile(r"(?=.*[A-Za-z])[A-Za-z0-9]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9])?")
BASE_DIR = Path(__file__).resolve().parents[2]
PLACEHOLDER = re.compile(r"\bput-.*-here\b")  # of a secret in .env.production.example
MAIL_PORTS = {"smtp": 25, "smtp+tls": 587, "smtp+ssl": 465}


def host_and_port(host: str, port: int) -> str:
    """Join both as in a URL, which has brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def own_addresses() -> list[str]:
    """Return this machine's name and addresses, as browsers send them."""
    interfaces = [address for addresses in psutil.net_if_addrs().values() for address in addresses]
    return [
        gethostname().lower(),
        *(each.address for each in interfaces if each.family == AF_INET),
        *(f"[{each.address.partition('%')[0]}]" for each in interfaces if each.family == AF_INET6),
    ]


def refuse_placeholders(**secrets: Collection[str]) -> None:
    """Refuse secrets, by the names of their variables, that are still those of the example: everyone can read them."""
    if names := [name for name, values in secrets.items() if any(map(PLACEHOLDER.search, values))]:
        verb = "has" if len(names) == 1 else "have"
        raise ImproperlyConfigured(
            f"{' and '.join(names)} still {verb} the value of .env.production.example, which is public: "
            "use long random ones."
        )


class Environment:
    """The process's environment, which takes precedence over an optional `.env` file beside manage.py."""

    def __init__(self, folder: Path) -> None:
        self._env = environ.Env()
        self._env.prefix = ""
        if (folder / ".env").is_file():
            # Windows editors may put a mark before the text.
            environ.Env.read_env(folder / ".env", encoding="utf-8-sig")

    def text(self, name: str, default: str | None = None) -> str:
        """Without a default the variable is required and must not be empty."""
        value = str(self._env.str(name, default="")).strip()
        if value:
            return value
        if default is None:
            raise ImproperlyConfigured(f"{name} is required, but not set.")
        return default

    def secret(self, name: str) -> str:
        """Read an optional secret that callers send in a header, which has no agreed encoding for other letters."""
        value = self.text(name, "")
        if not (value.isascii() and value.isprintable()):
            raise ImproperlyConfigured(
                f"{name} is sent in a header: use letters from A to Z, digits and signs of ASCII."
            )
        return value

    def flag(self, name: str, *, default: bool) -> bool:
        """Raise on an unknown word instead of reading it as false."""
        word = self.text(name, str(default)).lower()
        if word in TRUE | FALSE:
            return word in TRUE
        raise ImproperlyConfigured(f"{name}={word!r} is not a boolean: use true or false.")

    def number(self, name: str, *, default: int, least: int = 0, most: int | None = None) -> int:
        word = self.text(name, str(default))
        with suppress(ValueError):
            value = int(word)
            if value >= least and (most is None or value <= most):
                return value
        bounds = f"from {least} upwards" if most is None else f"from {least} to {most}"
        raise ImproperlyConfigured(f"{name}={word!r} is not a whole number {bounds}.")

    def one_of(self, name: str, choices: tuple[str, ...], *, default: str) -> str:
        word = self.text(name, default).upper()
        if word in choices:
            return word
        raise ImproperlyConfigured(f"{name}={word!r} is not one of {', '.join(choices)}.")

    def zone(self, name: str, *, default: str) -> str:
        """Return the name of a time zone."""
        if (value := self.text(name, default)) not in available_timezones():
            raise ImproperlyConfigured(f"{name} is {value!r}. Expected a time zone such as {default}.")
        return value

    def some_of(self, name: str, choices: Collection[str]) -> list[str]:
        """Split a comma-separated list of choices; it may be empty."""
        words = self.words(name, default=[])
        if unknown := [word for word in words if word not in choices]:
            raise ImproperlyConfigured(f"{name} has {unknown[0]!r}, which is not one of {', '.join(choices)}.")
        return words

    def words(self, name: str, *, default: list[str] | None = None) -> list[str]:
        """Split a comma-separated list; without a default it is required."""
        joined = None if default is None else ",".join(default)
        return [word.strip() for word in self.text(name, joined).split(",") if word.strip()]

    def networks(self, name: str) -> list[IPv4Network | IPv6Network]:
        """Read a comma-separated list of networks; a single address is a network of one."""
        try:
            return [ip_network(word) for word in self.words(name, default=[])]
        except ValueError as error:
            raise ImproperlyConfigured(f"{name}: {error}. Use addresses or networks, as 10.20.0.0/16.") from None

    def host(self, name: str, *, default: str) -> str:
        """Read an address of this machine or its name; an IPv6 address may have brackets, and is returned without."""
        word = self.text(name, default)
        bare = word[1:-1] if word.startswith("[") and word.endswith("]") else word
        with suppress(ValueError):
            if "%" not in bare:  # an interface, which only some programs understand
                return str(ip_address(bare))
        if HOST_NAME.fullmatch(word):
            return word
        raise ImproperlyConfigured(f"{name}={word!r} is neither an address nor a name: use 127.0.0.1, 0.0.0.0 or ::1.")

    def folder(self, name: str, *, default: Path) -> Path:
        return Path(self.text(name, str(default))).expanduser().absolute()

    def folders(self, name: str, *, besides: Path) -> dict[str, Path]:
        """Read folders with a name each, as in `Saw 2=/mnt/saw2, Saw 3=/mnt/saw3`; all are different."""
        folders: dict[str, Path] = {}
        for word in self.words(name, default=[]):
            key, _, path = (part.strip() for part in normalize("NFC", word).partition("="))
            folder = Path(path).expanduser().absolute()
            if not key or not path or key in folders:
                raise ImproperlyConfigured(f"{name} has {word!r}: use a name once, and its folder, as Saw 2=/mnt/saw2.")
            if folder in (besides, *folders.values()):
                raise ImproperlyConfigured(f"{name} has {word!r}: another saw has this folder.")
            folders[key] = folder
        return folders

    def database(self, name: str) -> dict[str, Any]:
        """Return Django's settings for a database URL; only PostgreSQL is supported."""
        # Checked first: for another scheme the parser would print a warning that contains the password.
        if self.text(name).startswith(("postgres://", "postgresql://")):
            with suppress(ValueError):
                parsed: dict[str, Any] = self._env.db(name)
                if parsed.get("NAME"):
                    return {**parsed, "ENGINE": "kilit.postgres.external"}
        raise ImproperlyConfigured(f"{name} is not of the form postgres://user:password@host:5432/name.")

    def mail(self, name: str) -> dict[str, object]:
        """Return Django's settings for the URL of a mail server; without one, the host is empty."""
        address = self.text(name, "")
        with suppress(ValueError):
            parts = urlsplit(address)
            if not address or (parts.scheme in MAIL_PORTS and parts.hostname):
                return {
                    "EMAIL_HOST": parts.hostname or "",
                    "EMAIL_PORT": parts.port or MAIL_PORTS[parts.scheme or "smtp"],
                    "EMAIL_HOST_USER": unquote(parts.username or ""),
                    "EMAIL_HOST_PASSWORD": unquote(parts.password or ""),
                    "EMAIL_USE_TLS": parts.scheme == "smtp+tls",
                    "EMAIL_USE_SSL": parts.scheme == "smtp+ssl",
                }
        raise ImproperlyConfigured(f"{name} is not of the form smtp+tls://user:password@host:587.")

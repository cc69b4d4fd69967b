"""Which URLs a webhook may have: http and https, and nothing that two parsers could read differently."""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.utils.translation import gettext as _

MOST_CHARACTERS = 2000
# The characters of URLs, without a backslash, quotes and angle brackets.
FORM = re.compile(r"https?://[!#-;=?-Z\]\[_a-z~]+", re.IGNORECASE)
PORTS = {"http": 80, "https": 443}


class InvalidUrl(ValueError):
    """The message says in a sentence what is wrong."""


@dataclass(frozen=True)
class Target:
    scheme: str
    host: str
    port: int
    authority: str  # for the header Host
    path: str  # with the query

    @property
    def server(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    @property
    def origin(self) -> str:
        """The beginning of all addresses of the same receiver; both names of this machine are one."""
        host = "127.0.0.1" if self.host == "localhost" else f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + ("" if self.port == PORTS[self.scheme] else f":{self.port}")

    @property
    def uses_tls(self) -> bool:
        return self.scheme == "https"


def parse_url(url: str) -> Target:
    if len(url) > MOST_CHARACTERS:
        raise InvalidUrl(_("A URL may have at most %(most)s characters.") % {"most": MOST_CHARACTERS})
    if not FORM.fullmatch(url):
        raise InvalidUrl(_("Enter an http or https URL, in ASCII characters."))
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise InvalidUrl(_("The host or the port is not valid.")) from None
    if "@" in parts.netloc:
        raise InvalidUrl(_("A URL may not contain a user name or password."))
    # A name with a trailing dot is in no certificate, and a zone names an interface of this machine.
    if not host or host.startswith(".") or host.endswith(".") or "%" in host or port == 0:
        raise InvalidUrl(_("The host or the port is not valid."))
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(parts.scheme, host, port or PORTS[parts.scheme], parts.netloc, path)

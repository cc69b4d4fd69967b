"""How much a request may send: little without a key or a session, more with one, and a large body only if it is valid.

Bodies are received before Django sees the request. Without this, a stranger could fill memory and temporary files.
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from django.conf import settings

from config.web.server.limits import KIB, MIB, WebLimits
from config.web.server.refusals import RefusalKind, RequestRefused


class Caller(Enum):
    """Whose request it is, as far as the database knows."""

    UNKNOWN = "neither the key nor the session is valid"
    KEY = "a valid key"
    SESSION = "a valid session"


@dataclass(frozen=True)
class RequestCredentials:
    """What a request carries to show whose it is; nothing of it has been checked."""

    key: str = ""
    authorization: str = ""
    session: str = ""

    @classmethod
    def of_headers(cls, headers: Sequence[tuple[str, str]]) -> "RequestCredentials":
        values = {name: value.strip() for name, value in headers}
        cookie = re.escape(settings.SESSION_COOKIE_NAME)
        session = re.search(rf"(?:^|;)\s*{cookie}=([^;]+)", values.get("COOKIE", ""))
        key, authorization = values.get("X-API-KEY", ""), values.get("AUTHORIZATION", "")
        return cls(key, authorization, session[1].strip() if session else "")

    def __bool__(self) -> bool:
        return bool(self.key or self.authorization or self.session)


Identify = Callable[[RequestCredentials], Awaitable[Caller]]


class BodyAdmission:
    """Decides for one request how large its body may become. The database is asked once, and only for large ones."""

    def __init__(self, request: Any, *, limits: WebLimits, identify: Identify) -> None:
        self._limits, self._identify = limits, identify
        self._credentials = RequestCredentials.of_headers(request.headers)
        self._caller: Caller | None = None

    async def admit(self, size: int) -> None:
        """Raise RequestRefused if a body may not become so large."""
        limits = self._limits
        if size > limits.body_bytes:
            raise RequestRefused(RefusalKind.BODY_TOO_LARGE, limits.body_bytes // MIB)
        if size <= limits.unknown_bytes:
            return
        if not self._credentials:
            raise RequestRefused(RefusalKind.NO_CREDENTIALS, limits.unknown_bytes // KIB)
        if size <= limits.unchecked_bytes:
            return
        if self._caller is None:
            self._caller = await self._identify(self._credentials)
        if self._caller is Caller.UNKNOWN:
            raise RequestRefused(RefusalKind.UNKNOWN_CREDENTIALS)
        if self._caller is Caller.KEY and size > limits.key_bytes:
            raise RequestRefused(RefusalKind.BODY_TOO_LARGE, limits.key_bytes // MIB)

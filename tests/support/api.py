"""The API as a caller sees it: with a key, with that of a user, or with the session of a person."""

from collections.abc import Callable, Mapping
from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from kilit.access.models import ApiKey, RateWindow
from ociqueue.models import Site


def is_limited(send: Callable[[], Any], *, after: int) -> bool:
    """Tell whether a request after so many is refused; a minute may end among them, but not twice in a row."""
    for _ in range(2):
        if [send().status_code for _ in range(after + 1)][-1] == 429:
            return True
        RateWindow.objects.all().delete()
    return False


class Api:
    def __init__(self, key: str | User | None = None, client: Client | None = None, *, root: str = "/api/") -> None:
        self.client, self.root = client or Client(), root
        text = ApiKey.objects.issue(key, name="test")[1] if isinstance(key, User) else key
        self.headers = {"x-api-key": text} if text else {}

    def __call__(
        self, method: str, path: str = "", body: Any = None, headers: Mapping[str, str] | None = None, **query: Any
    ) -> Any:
        options: dict[str, Any] = {"headers": {**self.headers, **(headers or {})}, "query_params": query}
        if body is not None:
            options |= {"data": body, "content_type": "application/json"}
        return getattr(self.client, method.lower())(f"{self.root}{path}", **options)

    def get(self, path: str, **query: Any) -> Any:
        return self("GET", path, **query)

    def post(self, path: str, body: Any = None) -> Any:
        return self("POST", path, {} if body is None else body)

    def claim(self, site: Site, **query: Any) -> list[dict[str, Any]]:
        answer = self.get("oci/google-ads-export", siteId=site.public_id, markAsExported="true", **query)
        assert answer.status_code == 200, answer.content
        return answer.json()

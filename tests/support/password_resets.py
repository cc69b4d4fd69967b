"""A forgotten password: asking for a link, following it, and choosing a new password."""

import re
from typing import Any

from django.test import Client

ASK, LOGIN = "/admin/password-reset/", "/admin/login/"
OLD, NEW = "a right long password", "a-new-password-1"
CHOSEN = {"new_password1": NEW, "new_password2": NEW}
PUBLIC = "https://kilit.example.com"


def ask(email: str = "ayse@example.com", **headers: Any) -> Any:
    return Client().post(ASK, {"email": email}, **headers)


def link_in(text: str) -> str:
    found = re.findall(rf"{PUBLIC}(/admin/password-reset/\S+)", text)
    assert len(found) == 1, text
    return found[0]


def opened(link: str, client: Client | None = None) -> tuple[Client, str, Any]:
    """Follow a link as a browser does; return the page it leads to."""
    client = client or Client()
    answer = client.get(link, follow=True)
    return client, answer.redirect_chain[-1][0] if answer.redirect_chain else link, answer


def choose(link: str, **changes: str) -> Any:
    client, path, _ = opened(link)
    return client.post(path, {**CHOSEN, **changes})


def enters(password: str, name: str = "ayse") -> bool:
    return Client().post(LOGIN, {"username": name, "password": password}).status_code == 302

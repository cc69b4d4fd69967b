"""A user with a second factor, codes as an authenticator app computes them, and logins step by step."""

import base64
import hmac
import re
import struct
import time
from typing import Any

from django.contrib.auth.models import User
from django.test import Client

LOGIN, CODE, PAGES = "/admin/login/", "/admin/login/code/", "/admin/second-factor/"
APP, CODES, CONFIRM, REMOVE_APP = f"{PAGES}app/", f"{PAGES}codes/", f"{PAGES}confirm/", f"{PAGES}app/remove/"
ENTERED_WITHIN = 3  # seconds, on a busy machine
PASSWORD = "a right long password"


def code_of(secret: str, *, periods: int = 0) -> str:
    """Compute a code by RFC 6238, now or some periods of 30 seconds from now."""
    key = base64.b32decode(secret)
    digest = hmac.digest(key, struct.pack(">Q", int(time.time()) // 30 + periods), "sha1")
    at = digest[-1] & 15
    return f"{(struct.unpack('>I', digest[at : at + 4])[0] & 0x7FFFFFFF) % 1_000_000:06}"


def wrong_code(secret: str) -> str:
    near = {code_of(secret, periods=periods) for periods in range(-3, 30)}
    return next(code for code in ("000000", "111111", "222222", "333333") if code not in near)


def enter_password(client: Client, username: str = "ayse", **fields: Any) -> Any:
    return client.post(LOGIN, {"username": username, "password": PASSWORD, **fields})


def enter_code(client: Client, code: str, **headers: Any) -> Any:
    return client.post(CODE, {"code": code}, **headers)


def is_logged_in(client: Client) -> bool:
    return client.get("/admin/").status_code == 200


def set_up_app(client: Client) -> tuple[str, list[str]]:
    """Set up an app with the secret that the page shows; return it, and the recovery codes."""
    found = re.search(r"<code[^>]*>([A-Z2-7\s]+)</code>", client.get(APP).content.decode())
    assert found, "the page shows no secret"
    shown = re.sub(r"\s", "", found[1])
    if (left := 30 - time.time() % 30) < ENTERED_WITHIN:
        time.sleep(left)  # the code before would be too old when it arrives
    answer = client.post(APP, {"code": code_of(shown, periods=-1)}, follow=True)
    codes = re.findall(r"<li>(\d{4} \d{4})</li>", answer.content.decode())
    assert len(codes) == 10, answer.content.decode()
    return shown, codes


def with_app(username: str = "ayse") -> tuple[User, str, list[str]]:
    """Make a user who has set up an app."""
    user = User.objects.create_user(username, f"{username}@example.com", PASSWORD, is_staff=True)
    client = Client()
    enter_password(client, username)
    return user, *set_up_app(client)

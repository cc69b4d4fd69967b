"""Demo data: the same users everywhere, with passwords of this installation's own."""

import json
import secrets
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Group, User
from django.utils import timezone

import ociqueue.demo
import orchestrator.demo
import outbox.demo
import pdfjobs.demo
from kilit.access.key_scopes import KeyScope
from kilit.access.models import ApiKey
from kilit.access.roles import Role
from kilit.files import write_atomically

AGENCY_KEY_LASTS = timedelta(days=30)


def load_demo() -> dict[str, Any]:
    """Create what is missing and return the logins; a second call changes nothing."""
    # Passwords and keys are in a file, because the database stores only their hashes.
    file = settings.KILIT_VAR / "demo.json"
    kept: dict[str, str] = json.loads(file.read_text()) if file.exists() else {}
    members = (Role.OPERATOR, Role.VIEWER, Role.ADMIN)
    logins: dict[str, Any] = {role.value: demo_user(role, kept) for role in (*members, Role.OWNER)}
    people = {logins[role]["username"]: role.value for role in members}
    logins |= ociqueue.demo.load_demo(people=people, kept=kept)
    service, logins["service"] = demo_service(kept)
    logins["agency"] = demo_agency(kept)
    operator = User.objects.get(username=f"demo-{Role.OPERATOR}")
    key = demo_key(operator, "command_line", kept, name="command line")
    logins["command_line"] = {"username": operator.username, "api_key": key}
    pdfjobs.demo.load_demo(owner=service)
    orchestrator.demo.load_demo()
    outbox.demo.load_failed_messages()
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, f"{json.dumps(kept, indent=2)}\n".encode(), mode=0o600)
    return logins


def demo_service(kept: dict[str, str]) -> tuple[User, dict[str, str]]:
    user, _ = User.objects.get_or_create(username="demo-service", defaults={"password": make_password(None)})
    user.groups.set(Group.objects.filter(name=Role.OPERATOR))
    return user, {"username": user.username, "api_key": demo_key(user, "service", kept, name="demo")}


def demo_agency(kept: dict[str, str]) -> dict[str, str]:
    user, ends = User.objects.get(username=f"demo-{Role.ADMIN}"), timezone.now() + AGENCY_KEY_LASTS
    key = demo_key(user, "agency", kept, name="agency", scopes=[KeyScope.ADMIN], expires_at=ends)
    return {"username": user.username, "api_key": key}


def demo_key(user: User, place: str, kept: dict[str, str], **columns: Any) -> str:
    """Return the key of a user that is kept at a place, or a new one."""
    text = kept.get(place)
    if not (text and ApiKey.objects.valid().filter(user=user).holding(text)):
        text = kept[place] = ApiKey.objects.issue(user, **columns)[1]
    return text


def demo_user(role: Role, kept: dict[str, str]) -> dict[str, str]:
    user, is_new = User.objects.get_or_create(username=f"demo-{role}", defaults={"is_staff": True})
    user.groups.set(Group.objects.filter(name=role))
    password = kept.setdefault(f"demo-{role}", secrets.token_urlsafe(12))
    # Checking takes as long as setting, also for a user without a password.
    if is_new or not user.check_password(password):
        user.set_password(password)
        user.save()
    return {"username": user.username, "password": password}

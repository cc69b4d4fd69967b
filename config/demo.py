"""Demo data: the same users everywhere, with passwords of this installation's own."""

import json
import secrets
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group, User

import ociqueue.demo
import orchestrator.demo
import pdfjobs.demo
from kilit.access.models import ApiKey
from kilit.access.roles import Role
from kilit.files import write_atomically


def load_demo() -> dict[str, Any]:
    """Create what is missing and return the logins; a second call changes nothing."""
    secrets_file = DemoSecrets(settings.KILIT_VAR / "demo.json")
    roles = (Role.OPERATOR, Role.VIEWER, Role.ADMIN)
    logins: dict[str, Any] = {role.value: demo_user(role, secrets_file) for role in roles}
    people = {login["username"]: role for role, login in logins.items()}
    logins |= ociqueue.demo.load_demo(
        people=people, recall=secrets_file.values.get, keep=secrets_file.values.__setitem__
    )
    service, logins["service"] = demo_service(secrets_file)
    pdfjobs.demo.load_demo(owner=service)
    orchestrator.demo.load_demo()
    secrets_file.save()
    return logins


class DemoSecrets:
    """Passwords and keys in a file, because the database stores only their hashes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.values: dict[str, str] = json.loads(path.read_text()) if path.exists() else {}

    def save(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(self.path, f"{json.dumps(self.values, indent=2)}\n".encode(), mode=0o600)


def demo_service(secrets_file: DemoSecrets) -> tuple[User, dict[str, str]]:
    """Create a service that sends jobs: an operator without a password, but with a valid key."""
    user, created = User.objects.get_or_create(username="demo-service")
    if created:
        user.set_unusable_password()
        user.save()
    user.groups.set(Group.objects.filter(name=Role.OPERATOR))
    text = secrets_file.values.get("service")
    if not (text and ApiKey.objects.valid().filter(user=user).holding(text)):
        text = secrets_file.values["service"] = ApiKey.objects.issue(user, name="demo")[1]
    return user, {"username": user.username, "api_key": text}


def demo_user(role: Role, secrets_file: DemoSecrets) -> dict[str, str]:
    user, _ = User.objects.get_or_create(username=f"demo-{role}", defaults={"is_staff": True})
    user.groups.set(Group.objects.filter(name=role))
    password = secrets_file.values.setdefault(f"demo-{role}", secrets.token_urlsafe(12))
    if not user.check_password(password):
        user.set_password(password)
        user.save()
    return {"username": user.username, "password": password}

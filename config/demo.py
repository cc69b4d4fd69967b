"""Demo data: the same people each time, with passwords of this installation's own."""

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


def load_demo() -> dict[str, Any]:
    """Make what is missing, and return how to log in; a second call changes nothing."""
    memory = Memory(settings.KILIT_VAR / "demo.json")
    shown: dict[str, Any] = {role.value: demo_person(role, memory) for role in (Role.OPERATOR, Role.VIEWER, Role.ADMIN)}
    people = {facts["username"]: role for role, facts in shown.items()}
    shown |= ociqueue.demo.load_demo(people=people, recall=memory.values.get, keep=memory.values.__setitem__)
    service, shown["service"] = demo_service(memory)
    pdfjobs.demo.load_demo(owner=service)
    orchestrator.demo.load_demo()
    memory.save()
    return shown


class Memory:
    """What demo data must remember because the database only keeps hashes of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.values: dict[str, str] = json.loads(path.read_text()) if path.exists() else {}

    def secret(self, name: str) -> str:
        """Return a secret of this installation, made when first asked for."""
        return self.values.setdefault(name, secrets.token_urlsafe(12))

    def save(self) -> None:
        """Write it down for the owner alone."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.touch(mode=0o600)
        self.path.write_text(json.dumps(self.values, indent=2) + "\n")


def demo_service(memory: Memory) -> tuple[User, dict[str, str]]:
    """Make a backend that sends jobs: a user without a password who may operate, and a key that still opens."""
    user, made = User.objects.get_or_create(username="demo-service")
    if made:
        user.set_unusable_password()
        user.save()
    user.groups.set(Group.objects.filter(name=Role.OPERATOR))
    text = memory.values.get("service")
    if not (text and ApiKey.objects.valid().filter(user=user).holding(text)):
        text = memory.values["service"] = ApiKey.objects.issue(user, name="demo")[1]
    return user, {"username": user.username, "api_key": text}


def demo_person(role: Role, memory: Memory) -> dict[str, str]:
    user, _ = User.objects.get_or_create(username=f"demo-{role}", defaults={"is_staff": True})
    user.groups.set(Group.objects.filter(name=role))
    password = memory.secret(f"demo-{role}")
    if not user.check_password(password):
        user.set_password(password)
        user.save()
    return {"username": user.username, "password": password}

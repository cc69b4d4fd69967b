"""Roles: viewer, operator and admin are groups; the models' permissions decide what each may do."""

from functools import cache
from typing import Any

from django.apps import AppConfig
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, Group, Permission
from django.db import models
from django.utils.translation import gettext_lazy as _

from kilit.lock.compiled import given
from kilit.workers.due_rows import BoundSql, any_exists, ask, question


class Role(models.TextChoices):
    """From least to most."""

    VIEWER = "viewer", _("Viewer")
    OPERATOR = "operator", _("Operator")
    ADMIN = "admin", _("Admin")


# Every queue has `view` and `operate` permissions; admins have all permissions, including those over users.
GRANTS = {Role.VIEWER: ("view_",), Role.OPERATOR: ("view_", "operate_"), Role.ADMIN: ("",)}
QUEUES = {"lock", "workers", "access", "bulk", "problems", "ociqueue", "pdfjobs", "orchestrator", "outbox"}
# These tables hold data of all tenants; a job's own page shows its events to everyone who may see the job.
FOR_ADMINS_ONLY = {"event", "apikey", "deniedrequest"}
APPS = {Role.VIEWER: QUEUES, Role.OPERATOR: QUEUES, Role.ADMIN: QUEUES | {"auth", "axes"}}
HELD = "held"


def grant(sender: AppConfig, **_: Any) -> None:
    """Grant the permissions of an app that was just migrated; they exist only after a migration."""
    permissions = Permission.objects.filter(content_type__app_label=sender.label)
    for group in Group.objects.filter(name__in=[role for role in Role if sender.label in APPS[role]]):
        hidden = set() if group.name == Role.ADMIN else FOR_ADMINS_ONLY
        granted = permissions.exclude(content_type__app_label__in=["lock", "access"], content_type__model__in=hidden)
        for prefix in GRANTS[Role(group.name)]:
            group.permissions.add(*granted.filter(codename__startswith=prefix))


def holds_permission(user: Any, permission: str) -> bool:
    """Return what `user.has_perm` does, for views that need one permission: it builds two queries, and reads all."""
    if not user.is_active or user.is_superuser:
        return bool(user.is_active)
    app, _dot, codename = permission.partition(".")
    return HELD in ask(_is_held(), user=user.pk, app=app, codename=codename)


@cache
def _is_held() -> BoundSql:
    named = Permission.objects.filter(
        content_type__app_label=given("app", models.CharField()), codename=given("codename", models.CharField())
    )
    user = given("user", models.IntegerField())
    return question({HELD: any_exists(lambda: [named.filter(user=user), named.filter(group__user=user)])})


def role_of(user: AbstractBaseUser | AnonymousUser) -> Role | None:
    if getattr(user, "is_superuser", False):
        return Role.ADMIN
    if not user.is_authenticated:
        return None
    names = set(Group.objects.filter(user=user.pk).values_list("name", flat=True))
    held = [role for role in Role if role in names]
    return held[-1] if held else None


def actor_of(user: AbstractBaseUser | AnonymousUser) -> str:
    """Return the name that events record, as in `operator:ayse`."""
    return f"{role_of(user) or 'user'}:{user.get_username() or 'anonymous'}"

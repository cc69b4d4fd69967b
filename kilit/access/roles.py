"""Roles: viewer, operator, admin and owner are groups; the models' permissions decide what each may do.

The first three are also roles at a site: an admin manages the sites at which they are an admin. What belongs to no
site belongs to the installation, and owners manage it.
"""

from functools import cache
from typing import Any

from django.apps import AppConfig
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, Group, Permission, User
from django.db import models
from django.utils.translation import gettext_lazy as _

from kilit.lock.fast_sql import parameter
from kilit.lock.guard import LifecycleModel
from kilit.workers.due_rows import BoundSql, any_exists


class Role(models.TextChoices):
    """From least to most."""

    VIEWER = "viewer", _("Viewer")
    OPERATOR = "operator", _("Operator")
    ADMIN = "admin", _("Admin")
    OWNER = "owner", _("Owner")


SITE_ROLES = (Role.VIEWER, Role.OPERATOR, Role.ADMIN)  # of members
OWNS = "access.own_installation"
# Every queue has `view` and `operate` permissions; admins have those over users and keys, too, and owners all.
GRANTS = {Role.VIEWER: ("view_",), Role.OPERATOR: ("view_", "operate_"), Role.ADMIN: ("",), Role.OWNER: ("",)}
SHARED = {"lock", "workers", "access", "sites", "audit"}  # by all queues
# What belongs to no site, besides the verbs in a model's `owner_verbs`. A job's own page shows its events to everyone
# who may see the job.
OF_OWNERS = {
    OWNS,
    "access.view_deniedrequest",
    "lock.view_event",
    "lock.view_pruning",
    "audit.view_audit",
    *(f"auth.{verb}_{model}" for verb in ("view", "add", "change", "delete") for model in ("group", "permission")),
}
OF_ADMINS = {"access.view_apikey", "access.view_loginwindow"}
WITHHELD = {
    Role.VIEWER: OF_OWNERS | OF_ADMINS,
    Role.OPERATOR: OF_OWNERS | OF_ADMINS,
    Role.ADMIN: OF_OWNERS,
    Role.OWNER: set[str](),
}


def grant(sender: AppConfig, **_: object) -> None:
    """Grant the permissions of an app that was just migrated; they exist only after a migration."""
    permissions = list(Permission.objects.filter(content_type__app_label=sender.label))
    of_owners = {
        f"{verb}_{model._meta.model_name}"
        for model in sender.get_models()
        for verb in getattr(model, "owner_verbs", ())
    }
    for group in Group.objects.filter(name__in=_roles_in(sender)):
        role = Role(group.name)
        may = {
            permission
            for permission in permissions
            if permission.codename.startswith(GRANTS[role])
            and f"{sender.label}.{permission.codename}" not in WITHHELD[role]
            and (role == Role.OWNER or permission.codename not in of_owners)
        }
        group.permissions.add(*may)
        group.permissions.remove(*(set(permissions) - may))


def _roles_in(app: AppConfig) -> list[Role]:
    if app.label in SHARED or any(issubclass(model, LifecycleModel) for model in app.get_models()):
        return list(Role)
    return [Role.ADMIN, Role.OWNER] if app.label == "auth" else []


def has_permission(user: User | AnonymousUser, permission: str) -> bool:
    """Return what `user.has_perm` does, for views that need one permission: it builds two queries, and reads all."""
    if not user.is_active or user.is_superuser:
        return bool(user.is_active)
    app, _dot, codename = permission.partition(".")
    return _is_permitted().is_true(user=user.pk, app=app, codename=codename)


@cache
def _is_permitted() -> BoundSql:
    named = Permission.objects.filter(
        content_type__app_label=parameter("app", models.CharField()), codename=parameter("codename", models.CharField())
    )
    user = parameter("user", models.IntegerField())
    return any_exists(lambda: [named.filter(user=user), named.filter(group__user=user)])


def is_owner(user: Any) -> bool:
    """Return whether a user runs the installation: owners and superusers do, with all its sites."""
    return bool(user.is_active and user.has_perm(OWNS))


def role_of(user: AbstractBaseUser | AnonymousUser) -> Role | None:
    if getattr(user, "is_superuser", False):
        return Role.OWNER
    if not user.is_authenticated:
        return None
    names = set(Group.objects.filter(user=user.pk).values_list("name", flat=True))
    held = [role for role in Role if role in names]
    return held[-1] if held else None


def actor_of(user: AbstractBaseUser | AnonymousUser) -> str:
    """Return the name that events record, as in `operator:ayse`; owners act as admins of all sites.

    The triggers of all queues know these words (kilit.lock.audit.PEOPLE).
    """
    role = role_of(user) or "user"
    return f"{Role.ADMIN if role == Role.OWNER else role}:{user.get_username() or 'anonymous'}"

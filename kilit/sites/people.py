"""People and the technical users behind sites' keys: whom an admin sees and manages, and what keys are called."""

import re
from collections.abc import Collection
from typing import Any

from django.contrib.auth.models import Group, Permission, User
from django.db.models import Exists, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Concat

from kilit.access.roles import Role, is_owner
from kilit.sites.models import KEYS_USER_PREFIX, SiteMembership, Tenant

KEYS_USERS = rf"^{KEYS_USER_PREFIX}[0-9a-f]{{32}}$"  # the prefix and a site's public id
GIVEN_BY_ADMINS = (Role.VIEWER, Role.OPERATOR)
MOST_SITES_FOUND = 100  # by words of their names, when keys are searched


def is_keys_user(user: Any) -> bool:
    """Return whether a user is no person, but owns the keys of a site."""
    return re.match(KEYS_USERS, user.get_username()) is not None


def people_seen_by(user: Any) -> QuerySet[User]:
    """Return the user, and the members of the sites that the user administers."""
    people = User.objects.exclude(username__regex=KEYS_USERS)
    if is_owner(user):
        return people
    own = Exists(_memberships().filter(site__in=Tenant.objects.administered_by(user)))
    return people.filter(own | Q(pk=user.pk), is_superuser=False)


def people_managed_by(user: Any, *, itself: bool = False) -> QuerySet[User]:
    """Return the people who are members of the user's sites and of no other, and who are no admins.

    To set a password is to become that person, in every site and with every permission of theirs. So a member of
    another site as well, a person with a group or permission of their own, and admins are left to owners, and
    superusers to each other. The user's own account is added if asked for.
    """
    people = _managed_by(user)
    return people | User.objects.filter(pk=user.pk) if itself else people


def _managed_by(user: Any) -> QuerySet[User]:
    people = people_seen_by(user)
    if is_owner(user):
        return people if user.is_superuser else people.filter(is_superuser=False)
    elsewhere = Exists(_memberships().exclude(site__in=Tenant.objects.administered_by(user)))
    is_admin = Exists(_memberships().filter(role=Role.ADMIN))
    more = Exists(Group.objects.filter(user=OuterRef("pk")).exclude(name__in=GIVEN_BY_ADMINS))
    permitted = Exists(Permission.objects.filter(user=OuterRef("pk")))
    return people.filter(~elsewhere, ~is_admin, ~more, ~permitted).exclude(pk=user.pk)


def key_owners_managed_by(user: Any) -> QuerySet[User]:
    """Return the user, the people whom the user manages, and those behind the keys of the user's sites."""
    if is_owner(user):
        return User.objects.all()
    own_sites = Tenant.objects.administered_by(user)
    keys_users = own_sites.annotate(keys_user=Concat(Value(KEYS_USER_PREFIX), "public_id")).values("keys_user")
    managed = people_managed_by(user).values("pk")
    return User.objects.filter(Q(pk=user.pk) | Q(pk__in=managed) | Q(username__in=keys_users))


def key_owner_names(usernames: Collection[str]) -> dict[str, str]:
    """Return what people call the owners of keys: users by their own names, technical ones by their site's."""
    prefix = len(KEYS_USER_PREFIX)
    ids = [username[prefix:] for username in usernames if username.startswith(KEYS_USER_PREFIX)]
    names = Tenant.objects.filter(public_id__in=ids).values_list("public_id", "name") if ids else []
    return {name: name for name in usernames} | {f"{KEYS_USER_PREFIX}{public_id}": name for public_id, name in names}


def keys_users_of_sites(text: str) -> list[str]:
    """Return the technical users that own the keys of sites with such a name."""
    ids = Tenant.objects.filter(name__words=text).values_list("public_id", flat=True)
    return [f"{KEYS_USER_PREFIX}{public_id}" for public_id in ids[:MOST_SITES_FOUND]]


def _memberships() -> QuerySet[SiteMembership]:
    return SiteMembership.objects.filter(user=OuterRef("pk"))

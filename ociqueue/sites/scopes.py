"""Sites as the scopes of the installation; see kilit.access.scopes."""

from typing import Any

from django.contrib.auth.models import Group, Permission, User
from django.db.models import Exists, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Concat

from kilit.access.roles import Role, is_owner
from ociqueue.models import Site, SiteMembership
from ociqueue.models.site import KEYS_USER_PREFIX, SiteQuerySet

KEYS_USERS = rf"^{KEYS_USER_PREFIX}[0-9a-f]{{32}}$"  # the prefix and a site's public id
GIVEN_BY_ADMINS = (Role.VIEWER, Role.OPERATOR)


class SiteScopes:
    def names(self) -> dict[str, str]:
        return {str(pk): name for pk, name in Site.objects.values_list("pk", "name")}

    def choices(self) -> dict[str, str]:
        return {str(site.pk): site.label for site in Site.objects.active().only("pk", "name", "customer_id")}

    def public_ids(self) -> dict[str, str]:
        return {str(pk): public_id for pk, public_id in Site.objects.values_list("pk", "public_id")}

    def seen_by(self, user: Any) -> list[str] | None:
        return Site.objects.scopes_seen_by(user)

    def run_by(self, user: Any) -> list[str] | None:
        return None if is_owner(user) else _ids(Site.objects.run_by(user))

    def people_seen_by(self, user: Any) -> QuerySet[User]:
        """Return the user, and the members of the sites that the user administers."""
        people = User.objects.exclude(username__regex=KEYS_USERS)
        if is_owner(user):
            return people
        own = Exists(_memberships().filter(site__in=Site.objects.administered_by(user)))
        return people.filter(own | Q(pk=user.pk), is_superuser=False)

    def people_managed_by(self, user: Any) -> QuerySet[User]:
        """Return the people who are members of the user's sites and of no other, and who are no admins.

        To set a password is to become that person, in every site and with every permission of theirs. So a member of
        another site as well, a person with a group or permission of their own, and admins are left to owners, and
        superusers to each other.
        """
        people = self.people_seen_by(user)
        if is_owner(user):
            return people if user.is_superuser else people.filter(is_superuser=False)
        elsewhere = Exists(_memberships().exclude(site__in=Site.objects.administered_by(user)))
        is_admin = Exists(_memberships().filter(role=Role.ADMIN))
        more = Exists(Group.objects.filter(user=OuterRef("pk")).exclude(name__in=GIVEN_BY_ADMINS))
        permitted = Exists(Permission.objects.filter(user=OuterRef("pk")))
        return people.filter(~elsewhere, ~is_admin, ~more, ~permitted).exclude(pk=user.pk)

    def key_owners_managed_by(self, user: Any) -> QuerySet[User]:
        """Return the user, the people whom the user manages, and those behind the keys of the user's sites."""
        if is_owner(user):
            return User.objects.all()
        own_sites = Site.objects.administered_by(user)
        keys_users = own_sites.annotate(keys_user=Concat(Value(KEYS_USER_PREFIX), "public_id")).values("keys_user")
        managed = self.people_managed_by(user).values("pk")
        return User.objects.filter(Q(pk=user.pk) | Q(pk__in=managed) | Q(username__in=keys_users))


def _memberships() -> QuerySet[SiteMembership]:
    return SiteMembership.objects.filter(user=OuterRef("pk"))


def _ids(sites: SiteQuerySet) -> list[str]:
    return [str(pk) for pk in sites.values_list("pk", flat=True)]

"""Who may do what: the role gives the verb, the membership gives the sites (CON-10)."""

from typing import TYPE_CHECKING

from lifecycle.roles import Role
from ociqueue.models import Site, SiteMembership

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User


def may_operate(user: "User | AnonymousUser") -> bool:
    """Tell whether a user may act on conversions of some site."""
    return user.has_perm("ociqueue.operate_conversion") and Site.objects.run_by(user).exists()


def may_pause(user: "User | AnonymousUser", site: Site) -> bool:
    """Tell whether a user may pause a site."""
    return user.has_perm("ociqueue.operate_site") and Site.objects.run_by(user).filter(pk=site.pk).exists()


def may_administer(user: "User | AnonymousUser", site: Site) -> bool:
    """Tell whether a user may change a site, its people and its keys."""
    if not user.has_perm("ociqueue.change_site"):
        return False
    if user.is_superuser:
        return True
    return SiteMembership.objects.filter(site=site, user=user.pk, role=Role.ADMIN).exists()

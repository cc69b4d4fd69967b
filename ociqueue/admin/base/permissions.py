"""Who may do what: the role grants the action, the membership grants the sites."""

from typing import TYPE_CHECKING

from ociqueue.models import Site

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User


def may_run(user: "User | AnonymousUser", site: Site) -> bool:
    """Pause a site, probe its circuit and test its credentials."""
    return user.has_perm("ociqueue.operate_site") and Site.objects.run_by(user).filter(pk=site.pk).exists()


def may_administer(user: "User | AnonymousUser", site: Site) -> bool:
    """Change a site, its members and its keys."""
    may_change = user.has_perm("ociqueue.change_site")
    return may_change and Site.objects.administered_by(user).filter(pk=site.pk).exists()

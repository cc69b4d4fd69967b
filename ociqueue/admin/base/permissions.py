"""Who may do what: the role grants the action, the membership grants the sites."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from unfold.admin import ModelAdmin

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


def site_of(
    model_admin: ModelAdmin, request: HttpRequest, object_id: str, *, allowed: Callable[[Any, Site], bool] | None = None
) -> Site:
    """Return a site that the user may see, or act on; sites of others are not found."""
    site: Site | None = model_admin.get_object(request, unquote(object_id))
    if site is None:
        raise Http404
    if not (allowed(request.user, site) if allowed else model_admin.has_view_permission(request, site)):
        raise PermissionDenied
    return site

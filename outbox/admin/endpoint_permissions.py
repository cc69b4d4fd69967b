"""Who may do what with endpoints: the role grants the action, the membership grants the sites."""

from collections.abc import Callable
from typing import Any

from django.contrib.admin.utils import unquote
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from unfold.admin import ModelAdmin

from kilit.access.scopes import scopes_run_by
from outbox.models import Endpoint


def may_manage(user: User | AnonymousUser, endpoint: Endpoint) -> bool:
    return Endpoint.objects.managed_by(user).filter(pk=endpoint.pk).exists()


def may_manage_any(user: User | AnonymousUser) -> bool:
    """Return whether a user may add endpoints: for some site, or for the installation."""
    return bool(user.has_perm("outbox.operate_endpoint") and scopes_run_by(user) != [])


def endpoint_of(
    model_admin: ModelAdmin,
    request: HttpRequest,
    object_id: str,
    *,
    allowed: Callable[[Any, Endpoint], bool] | None = None,
) -> Endpoint:
    """Return an endpoint that the user may see, or manage; those of others are not found."""
    endpoint: Endpoint | None = model_admin.get_object(request, unquote(object_id))
    if endpoint is None:
        raise Http404
    if not (allowed(request.user, endpoint) if allowed else model_admin.has_view_permission(request, endpoint)):
        raise PermissionDenied
    return endpoint

"""The model of sites that the console lists, whose history and permissions are those of a site: a child of Tenant."""

from typing import Any, cast

from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User

from kilit.sites.models import SiteQuerySet, Tenant


def site_model() -> type[Tenant]:
    return cast("type[Tenant]", apps.get_model(settings.SITE_MODEL))


def sites() -> SiteQuerySet[Any]:
    return cast("SiteQuerySet[Any]", site_model()._default_manager.all())


def has_site_permission(user: User | AnonymousUser, *verbs: str) -> bool:
    """Return whether a user has the permission for one of these verbs."""
    opts = site_model()._meta
    return any(user.has_perm(f"{opts.app_label}.{verb}_{opts.model_name}") for verb in verbs)

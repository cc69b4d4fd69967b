"""The pages of a site: their header with its name and state, Pause, and the tabs; and who may do what there.

The role grants the action, the membership grants the sites.
"""

from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.admin import ModelAdmin

from kilit.console.formatting import page
from kilit.console.menu import MenuItem
from ociqueue.models import Site
from ociqueue.states import UPLOADED_HERE

CONVERSIONS_MENU = MenuItem(gettext_lazy("Conversions"), "ads_click", 10)
SITES_MENU = MenuItem(gettext_lazy("Sites"), "storefront", 20)
UPLOADS = "uploads"  # a tab that is the list of uploads, for one site


def may_run(user: User | AnonymousUser, site: Site) -> bool:
    """Pause a site, probe its circuit and test its credentials."""
    return user.has_perm("ociqueue.operate_site") and Site.objects.run_by(user).filter(pk=site.pk).exists()


def may_administer(user: User | AnonymousUser, site: Site) -> bool:
    """Change a site, its members and its keys."""
    may_change = user.has_perm("ociqueue.change_site")
    return may_change and Site.objects.administered_by(user).filter(pk=site.pk).exists()


def site_page(
    model_admin: ModelAdmin, request: HttpRequest, site: Site, template: str, *, tab: str = "", **context: Any
) -> HttpResponse:
    context |= {"original": site, **header_context(request, site, tab=tab or template)}
    return page(model_admin, request, f"admin/ociqueue/{template}.html", **context)


def header_context(request: HttpRequest, site: Site, *, tab: str) -> dict[str, Any]:
    titles = {
        "change": _("Overview"),
        "ads_script": _("Keys and script"),
        "credentials": _("Google"),
        "google_counts": _("Google's counts"),
        **({UPLOADS: _("Uploads")} if site.sync_method in UPLOADED_HERE else {}),
        "members": _("Members"),
        "settings": _("Settings"),
    }
    return {
        "site": site,
        "crumb": "" if tab == "change" else titles.get(tab, ""),
        "tabs": [(title, site_address(site, name), name == tab) for name, title in titles.items()],
        "may_run": may_run(request.user, site),
        "may_administer": may_administer(request.user, site),
    }


def site_address(site: Site, name: str) -> str:
    if name == UPLOADS:
        return list_of(site, "uploadbatch")
    return reverse(f"admin:ociqueue_site_{name}", args=[site.pk])


def list_of(site: Site, model: str = "conversion", **filters: str) -> str:
    return reverse(f"admin:ociqueue_{model}_changelist", query={"site": site.pk, **filters})

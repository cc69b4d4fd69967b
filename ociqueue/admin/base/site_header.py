"""The header of a site's pages: its name and state, Pause, and the tabs."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from ociqueue.admin.base.permissions import may_administer, may_run
from ociqueue.models import Site


@dataclass(frozen=True)
class SiteTab:
    title: str
    href: str
    is_current: bool


def header_context(request: HttpRequest, site: Site, *, tab: str) -> dict[str, Any]:
    """Return what the header of each of a site's pages shows."""
    titles = {
        "change": _("Overview"),
        "ads_script": _("Keys and script"),
        "credentials": _("Google"),
        "google_counts": _("Google's counts"),
        "members": _("Members"),
        "settings": _("Settings"),
    }
    return {
        "site": site,
        "crumb": "" if tab == "change" else titles[tab],
        "tabs": [SiteTab(title, site_address(site, name), name == tab) for name, title in titles.items()],
        "may_run": may_run(request.user, site),
        "may_administer": may_administer(request.user, site),
    }


def site_address(site: Site, name: str) -> str:
    return reverse(f"admin:ociqueue_site_{name}", args=[site.pk])

"""The sidebar: the dashboard, the pages of each app that the user may see, and the API."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from kilit.access.second_factor import is_on
from kilit.console.dashboard.workers_page import may_see_workers

# Apps and models that are not named here come last.
APPS = ("ociqueue", "pdfjobs", "orchestrator", "outbox", "operations", "auth", "axes")
OPERATIONS = ("problems", "bulk", "lock", "access")  # shown as one group
ICONS = {
    "conversion": "ads_click",
    "adjustment": "price_change",
    "site": "storefront",
    "uploadbatch": "cloud_upload",
    "importjob": "upload_file",
    "erasure": "person_remove",
    "pdfjob": "picture_as_pdf",
    "job": "carpenter",
    "orderdraft": "edit_note",
    "customer": "contacts",
    "rulesversion": "rule",
    "outboxmessage": "outbox",
    "endpoint": "webhook",
    "channel": "notifications",
    "problemrecord": "report",
    "activity": "manage_search",
    "bulkaction": "playlist_play",
    "pruning": "auto_delete",
    "event": "history",
    "apikey": "key",
    "deniedrequest": "block",
    "accessattempt": "lock_clock",
    "user": "person",
    "group": "badge",
}
LAST = len(ICONS)


def sidebar(request: HttpRequest) -> list[dict[str, Any]]:
    first = [_link(_("Dashboard"), "dashboard", reverse("admin:index"))]
    if may_see_workers(request):
        first.append(_link(_("Workers and scheduled tasks"), "monitor_heart", reverse("console:workers")))
    apps = sorted(_grouped(admin.site.get_app_list(request)), key=lambda app: _place(app["app_label"], APPS))
    groups = [{"title": app["name"], "separator": True, "items": _models(app)} for app in apps]
    api = {"separator": True, "items": [_link(_("API"), "api", reverse("api-docs"))]}
    return [{"items": first}, *groups, api]


def account(request: HttpRequest) -> list[dict[str, Any]]:
    """Return the links of the user's menu."""
    links = [(_("Time zone"), "preferences"), (_("Change password"), "admin:password_change")]
    if is_on():
        links.append((_("Two-factor authentication"), "second_factor"))
    return [{"title": title, "link": reverse(name)} for title, name in links]


def _grouped(apps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    operations = [model for app in apps if app["app_label"] in OPERATIONS for model in app["models"]]
    others = [app for app in apps if app["app_label"] not in OPERATIONS]
    group = {"app_label": "operations", "name": _("Operations"), "models": operations}
    return [*others, group] if operations else others


def _models(app: dict[str, Any]) -> list[dict[str, Any]]:
    models = sorted(app["models"], key=lambda model: _place(model["object_name"].lower(), tuple(ICONS)))
    return [
        _link(model["name"], ICONS.get(model["object_name"].lower(), "list"), model["admin_url"])
        for model in models
        if model["admin_url"]
    ]


def _link(title: Any, icon: str, address: str) -> dict[str, Any]:
    return {"title": title, "icon": icon, "link": address}


def _place(name: str, known: tuple[str, ...]) -> int:
    return known.index(name) if name in known else LAST

"""Settings of django-unfold: the look and navigation of the console."""

from typing import Any

from django.templatetags.static import static
from django.utils.translation import gettext_lazy

UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "Kilit",
    "SITE_HEADER": "Kilit",
    "SITE_SUBHEADER": gettext_lazy("Guarded job queues"),
    "SITE_SYMBOL": "lock",
    "SITE_URL": None,  # there is no public site
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": lambda _: static("console/lock.svg")}],
    "SHOW_HISTORY": True,
    "SHOW_VIEW_ON_SITE": False,
    "STYLES": [lambda _: static("console/console.css"), lambda _: static("console/lists.css")],
    "SCRIPTS": [
        lambda _: static("console/strict.js"),
        lambda _: static("console/zone.js"),
        lambda _: static("console/copy.js"),
        lambda _: static("console/menus.js"),
        lambda _: static("console/choose.js"),
        lambda _: static("console/autocomplete.js"),
        lambda _: static("console/live.js"),
    ],
    "DASHBOARD_CALLBACK": "kilit.console.dashboard.page.on_index",
    "SHOW_LANGUAGES": True,
    "ACCOUNT": {"navigation": "kilit.console.navigation.account"},
    "SIDEBAR": {"navigation": "kilit.console.navigation.sidebar", "show_search": True, "command_search": True},
}

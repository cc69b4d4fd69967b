"""How the console looks and what it opens on: the settings of django-unfold."""

from typing import Any

from django.templatetags.static import static
from django.utils.translation import gettext_lazy

CONSOLE: dict[str, Any] = {
    "SITE_TITLE": "Kilit",
    "SITE_HEADER": "Kilit",
    "SITE_SUBHEADER": gettext_lazy("Guarded job queues"),
    "SITE_SYMBOL": "lock",
    "SITE_URL": None,  # the console is all there is to see
    "SITE_FAVICONS": [
        {"rel": "icon", "type": "image/svg+xml", "href": lambda _: static("console/lock.svg")},
    ],
    "SHOW_HISTORY": True,
    "SHOW_VIEW_ON_SITE": False,
    "STYLES": [lambda _: static("console/console.css"), lambda _: static("console/page.css")],
    "SCRIPTS": [lambda _: static("console/console.js")],
    "DASHBOARD_CALLBACK": "lifecycle.console.dashboard.on_index",
    "SIDEBAR": {"navigation": "lifecycle.console.navigation.sidebar"},
}

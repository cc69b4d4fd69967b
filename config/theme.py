"""django-unfold with the console's own admin site."""

from django.contrib import admin
from django.contrib.admin import sites
from django.http import Http404, HttpRequest
from django.template.response import TemplateResponse
from django.utils.translation import gettext_noop
from unfold.apps import BasicAppConfig
from unfold.sites import UnfoldAdminSite


class ConsoleSite(UnfoldAdminSite):
    """unfold's admin site without lists of apps: the menu (kilit.console.navigation) has all pages."""

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[object]:
        return []

    def app_index(self, request: HttpRequest, app_label: str, extra_context: object = None) -> TemplateResponse:
        raise Http404


class UnfoldConfig(BasicAppConfig):
    def ready(self) -> None:
        admin.site = sites.site = ConsoleSite()


# Its own strings. It has no Turkish translation, so makemessages collects them from here.
STRINGS = (
    gettext_noop("After you've created a user, you’ll be able to edit more user options."),
    gettext_noop("Choose file to upload"),
    gettext_noop("Click to cancel"),
    gettext_noop("Date"),
    gettext_noop("False"),
    gettext_noop("Go back"),
    gettext_noop("Loading more results..."),
    gettext_noop("No recent searches"),
    gettext_noop("No results found"),
    gettext_noop("No results matching your query"),
    gettext_noop("Recent searches"),
    gettext_noop(
        "Raw passwords are not stored, so there is no way to see this user’s password, but you can change the "
        'password using <a href="{}" class="text-primary-600 dark:text-primary-500">this form</a>.'
    ),
    gettext_noop("Reset filters"),
    gettext_noop("Run"),
    gettext_noop("Search apps and models..."),
    gettext_noop("Select action"),
    gettext_noop("Select action to run"),
    gettext_noop("Select all %(total_count)s %(module_name)s"),
    gettext_noop("Select all rows"),
    gettext_noop("Select record"),
    gettext_noop("Select value"),
    gettext_noop("This item will be deleted."),
    gettext_noop("This page yielded into no results. Create a new item or reset your filters."),
    gettext_noop("Toggle password visibility"),
    gettext_noop("True"),
    gettext_noop("You have been successfully logged out from the administration"),
)

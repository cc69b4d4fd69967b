"""Lockouts in the console."""

from datetime import timedelta

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from django.conf import settings
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django_q.models import Failure, OrmQ, Schedule, Success

from config.papers.console import papers_of_job
from kilit.access.lockout import seconds_to_wait, unlock
from kilit.access.models import LoginWindow
from kilit.access.roles import is_owner
from kilit.access.second_factor import forget_wrong_codes
from kilit.console.formatting import exactly, number
from kilit.console.lists.listing import ReadOnlyAdmin
from kilit.console.menu import RECORDS
from kilit.lock.clock import database_time
from kilit.sites.people import people_managed_by
from orchestrator.admin.jobs import paper_finders

if "pdfjobs" not in settings.APPS_OFF:
    paper_finders.append(papers_of_job)
# django-q2's pages are hidden: "resubmit" drops a task's options and deletes history, and tasks are only doorbells.
admin.site.unregister([Failure, OrmQ, Schedule, Success])
# django-allauth's pages show secrets; users have their own pages, and owners an action in the list of users.
admin.site.unregister([Authenticator, EmailAddress, SocialAccount, SocialApp, SocialToken])

# The pages of queues that are switched off; this app is the last to be loaded.
admin.site.unregister([model for model in admin.site._registry if model._meta.app_label in settings.APPS_OFF])


@admin.register(LoginWindow)
class LockoutAdmin(ReadOnlyAdmin):
    """Failed logins that still count, and who is locked out; admins see and unlock the people they manage."""

    menu = RECORDS.tab(2, gettext_lazy("Logins"))
    list_display = fields = ["username", "address", "failures", "last_at", "state"]
    search_fields = ["username__words", "address__exact"]
    search_help_text = gettext_lazy("A username, or a whole address")
    ordering = ["-last_at"]
    actions = ["release"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[LoginWindow]:
        attempts: QuerySet[LoginWindow] = super().get_queryset(request).exclude(username="")
        if is_owner(request.user):
            return attempts
        return attempts.filter(username__in=people_managed_by(request.user, itself=True).values("username"))

    @admin.display(description=gettext_lazy("state"))
    def state(self, attempt: LoginWindow) -> str:
        if seconds := seconds_to_wait(attempt.username, attempt.address):
            return _("locked until %(time)s") % {"time": exactly(database_time() + timedelta(seconds=seconds))}
        return _("not locked")

    def has_release_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("access.delete_loginwindow")

    @admin.action(description=gettext_lazy("Unlock"), permissions=["release"])
    def release(self, request: HttpRequest, queryset: QuerySet[LoginWindow]) -> None:
        pairs = list(queryset.values_list("username", "address"))
        self.log_deletions(request, queryset)
        for username, address in pairs:
            unlock(username, address)
            forget_wrong_codes(username)
        text = ngettext("Unlocked %(number)s username.", "Unlocked %(number)s usernames.", len(pairs))
        messages.success(request, text % {"number": number(len(pairs))})

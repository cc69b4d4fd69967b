"""Pausing and resuming a whole queue: the pages, and the banner of its list."""

from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminTextInputWidget

from kilit.console.account.form_pages import back_to_page
from kilit.console.formatting import button, page
from kilit.console.jobs.timeline import Story
from kilit.console.queue_admin import QueueAdmin
from kilit.lock.models import QueuePause

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

# For the activity, by the verb that is recorded.
PAUSE_SENTENCES = {
    "pause": gettext_lazy("Queue paused by %(who)s"),
    "resume": gettext_lazy("Queue resumed by %(who)s"),
}


class PauseForm(forms.Form):
    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=200,
        widget=UnfoldAdminTextInputWidget(attrs={"autofocus": True}),
        help_text=gettext_lazy("Shown to everyone who asks why jobs wait, with your name."),
    )


class PausableQueueAdmin(QueueAdmin):
    """The admin of a queue whose claim reads `is_not_paused`."""

    actions_list = [*QueueAdmin.actions_list, "pause_queue"]
    pause_title: ClassVar["StrOrPromise"]  # a question
    pause_effect: ClassVar["StrOrPromise"]

    def has_pause_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        return self.queue.may_pause(request.user)

    def get_actions_list(self, request: HttpRequest) -> list[object]:
        """Offer Pause while the queue runs; the banner offers Resume while it is paused."""
        offered: list[Any] = super().get_actions_list(request)
        hidden = self.view_name("pause_queue") if QueuePause.objects.of(self.queue.table).exists() else ""
        return [action for action in offered if action.action_name != hidden]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponse:
        pause = QueuePause.objects.of(self.queue.table).first()
        context = {
            "queue_pause": pause,
            "paused_by": Story().who(pause.paused_by) if pause else "",
            "resume_href": self.address("resume_queue") if self.has_pause_permission(request) else "",
        }
        return super().changelist_view(request, {**context, **(extra_context or {})})

    @button(description=gettext_lazy("Pause the queue"), icon="pause_circle", permissions=["pause"], url_path="pause")
    def pause_queue(self, request: HttpRequest) -> HttpResponse:
        form = PauseForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            if QueuePause.objects.pause(self.queue.table, reason=form.cleaned_data["reason"]):
                messages.success(request, _("The queue is paused."))
            else:
                messages.info(request, _("The queue was paused already."))
            return HttpResponseRedirect(self.address("changelist"))
        return page(
            self,
            request,
            "admin/console/confirm.html",
            title=str(self.pause_title),
            sentences=[self.pause_effect],
            form=form,
            submit=_("Pause"),
            back=self.address("changelist"),
        )

    def resume_queue(self, request: HttpRequest) -> HttpResponse:
        if not self.has_pause_permission(request):
            raise PermissionDenied
        if request.method == "POST":  # logging in again leads here without the form
            if QueuePause.objects.resume(self.queue.table):
                messages.success(request, _("The queue is resumed."))
            else:
                messages.info(request, _("The queue was not paused."))
        return back_to_page(request, self.address("changelist"))

    def get_urls(self) -> list[object]:
        resume = self.admin_site.admin_view(self.resume_queue)
        return [path("resume/", resume, name=self.view_name("resume_queue")), *super().get_urls()]

"""Pausing and resuming a whole queue: the pages, and the banner of its list."""

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.admin import ModelAdmin

from kilit.console.account.form_pages import back_to_page
from kilit.console.lists.confirming import ReasonForm, confirm_page, reason_field
from kilit.lock.audit import actor_in_words
from kilit.lock.models import QueuePause


class PauseForm(ReasonForm):
    reason = reason_field(gettext_lazy("Shown to everyone who asks why jobs wait, with your name."), most=200)


def pause_banner(model_admin: ModelAdmin, request: HttpRequest) -> dict[str, object]:
    pause = QueuePause.objects.of(model_admin.queue.table).first()
    return {
        "queue_pause": pause,
        "paused_by": actor_in_words(pause.paused_by) if pause else "",
        "resume_href": model_admin.address("resume_queue") if model_admin.has_pause_permission(request) else "",
    }


def pause_page(model_admin: ModelAdmin, request: HttpRequest) -> HttpResponse:
    form = PauseForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        if QueuePause.objects.pause(model_admin.queue.table, reason=form.cleaned_data["reason"]):
            messages.success(request, _("The queue is paused."))
        else:
            messages.info(request, _("The queue was paused already."))
        return HttpResponseRedirect(model_admin.address("changelist"))
    title, sentences, back = model_admin.pause_title, [model_admin.pause_effect], model_admin.address("changelist")
    return confirm_page(model_admin, request, title=title, sentences=sentences, form=form, submit=_("Pause"), back=back)


def resume(model_admin: ModelAdmin, request: HttpRequest) -> HttpResponse:
    if not model_admin.has_pause_permission(request):
        raise PermissionDenied
    if request.method == "POST":  # logging in again leads here without the form
        if QueuePause.objects.resume(model_admin.queue.table):
            messages.success(request, _("The queue is resumed."))
        else:
            messages.info(request, _("The queue was not paused."))
    return back_to_page(request, model_admin.address("changelist"))

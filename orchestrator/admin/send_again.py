"""Sends the order of a failed job again, with the next revision, where a retry would be refused."""

from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path, reverse
from django.utils.translation import gettext as _
from unfold.admin import ModelAdmin

from kilit.api.errors import ApiError
from kilit.console.formatting import page
from kilit.console.jobs.job_page import JobOffer
from orchestrator.models import Job
from orchestrator.workflow import decisions

NAME = "orchestrator_job_send_again"


def send_again_offer(job: Job) -> JobOffer:
    return JobOffer(_title(job), "send", reverse(f"admin:{NAME}", args=[job.pk]))


class SendAgainMixin(ModelAdmin):
    def send_again(self, request: HttpRequest, object_id: str) -> HttpResponse:
        job = self.get_object(request, unquote(object_id))
        if not self.has_operate_permission(request):
            raise PermissionDenied
        if job is None:
            raise Http404
        back = self.address("change", job.pk)
        if request.method != "POST":
            sentence = _("The same order becomes a new job. To change it, have it sent again by its sender.")
            title = _title(job)
            return page(
                self,
                request,
                "admin/console/confirm.html",
                title=title,
                sentences=[sentence],
                submit=title,
                back=back,
                original=job,
            )
        try:
            sent, _is_known = decisions.send_again(job.pk)
        except ApiError as refusal:
            messages.warning(request, str(refusal.detail))
            return HttpResponseRedirect(back)
        sentence = _("Order %(order)s was sent again as revision %(number)s.")
        messages.success(request, sentence % {"order": sent.order_id, "number": sent.revision})
        return HttpResponseRedirect(self.address("change", sent.pk))

    def get_urls(self) -> list[object]:
        view = self.admin_site.admin_view(self.send_again)
        return [path("<path:object_id>/send-again/", view, name=NAME), *super().get_urls()]


def _title(job: Job) -> str:
    return _("Send again as revision %(number)s") % {"number": job.revision + 1}

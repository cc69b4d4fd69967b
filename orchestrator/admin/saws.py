"""The page on which an operator chooses the saw of a job, where the rules list several."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kilit.api.errors import ApiError
from kilit.console.jobs.job_page import JobOffer, Offers
from kilit.console.lists.confirming import reason_field
from kilit.console.lists.fields import choice_field
from kilit.console.queue_admin import QueueAdmin
from kilit.lock.audit import for_reason
from kilit.lock.models import Event
from orchestrator.errors import Code
from orchestrator.models import Job
from orchestrator.states import FAILING
from orchestrator.workflow.saw_choice import choice_of_saws, choose_saw


class SawForm(forms.Form):
    saw = choice_field(gettext_lazy("Saw"), required=False)
    reason = reason_field(gettext_lazy("Shown in the timeline, with your name."), required=False)

    def __init__(self, job: Job, choice: dict[str, str], data: Any = None) -> None:
        names = [name for name, reason in choice.items() if not reason]
        by_rules = [] if job.is_with_people else [("", _("the first that fits"))]
        saw = job.saw if job.saw_is_chosen or job.is_with_people else ""
        if job.error_code == Code.NO_SAW:
            saw = next(iter(names), "")  # it needs one of them
        super().__init__(data, initial={"saw": saw})
        field: Any = self.fields["saw"]
        field.choices = [*by_rules, *((name, name) for name in names)]
        field.help_text = " ".join(filter(None, choice.values()))


def saw_page(model_admin: QueueAdmin, request: HttpRequest, job: Job) -> HttpResponse | None:
    choice = choice_of_saws(job)
    if choice is None:
        messages.info(request, _("Nothing was changed: its saw is decided, or the rules list no saws."))
        return None
    form = SawForm(job, choice, request.POST if request.method == "POST" else None)
    if not form.is_valid():
        title = _("Which saw cuts order %(order)s?") % {"order": job.order_id}
        return model_admin.confirm(request, job, title=title, form=form, submit=_("Save"))
    try:
        with for_reason(form.cleaned_data["reason"]):
            choose_saw(job.pk, form.cleaned_data["saw"])
    except ApiError as refusal:
        messages.warning(request, str(refusal.detail))
    else:
        messages.success(request, _("The saw was chosen."))
    return None


def offer_saw(job: Job, offers: Offers) -> Offers:
    choice = choice_of_saws(job)
    if choice is None:
        return offers
    waits_for_it = job.status in FAILING and job.error_code == Code.NO_SAW
    href = reverse("admin:orchestrator_job_saw", args=[job.pk])
    form = SawForm(job, choice) if waits_for_it else None
    return {**offers, "saw": JobOffer(_("Choose the saw"), href, form=form)}


def changed_saws(event: Event) -> str:
    names = [event.details.get(name) or _("the first that fits") for name in ("before", "after")]
    return " → ".join(names)

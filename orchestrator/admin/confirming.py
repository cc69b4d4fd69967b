"""The page between an operator and an action: what it will do, why it is done, and then the report (CON-4, CON-9)."""

from contextlib import suppress
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from lifecycle.refusals import Refusal
from orchestrator.admin.actions import MOST_ACTED_ON, Action, ReasonForm, perform, preview
from orchestrator.admin.dress import page
from orchestrator.models.queryset import JobQuerySet


def ask_for_selected(model_admin: Any, request: HttpRequest, action: Action, jobs: JobQuerySet) -> HttpResponse | None:
    """Ask about the jobs selected in the list; what is asked about is what will be acted on."""
    ids = list(jobs.order_by().values_list("pk", flat=True)[: MOST_ACTED_ON + 1])
    if len(ids) > MOST_ACTED_ON:
        messages.error(request, f"At most {MOST_ACTED_ON} jobs at once.")
        return None
    return ask(model_admin, request, action, ids, filters=request.GET.urlencode())


def ask_for_job(model_admin: Any, request: HttpRequest, action: Action, object_id: str) -> HttpResponse:
    """Ask about one job, from its own page."""
    ids = read_ids(unquote(object_id))
    if not ids:
        raise Http404
    return ask(model_admin, request, action, ids, from_job=True)


def ask(
    model_admin: Any,
    request: HttpRequest,
    action: Action,
    ids: list[UUID],
    *,
    filters: str = "",
    from_job: bool = False,
    form: ReasonForm | None = None,
) -> HttpResponse:
    """Say what an action will do, and ask why."""
    try:
        eligible, sentences = preview(action, ids)
    except Refusal as refusal:  # there are no rules to judge by
        eligible, sentences = 0, [str(refusal.detail)]
    return page(
        model_admin,
        request,
        "ociqueue/confirm.html",
        title=action.label,
        sentences=sentences,
        form=form or ReasonForm(),
        submit=f"{action.title} ({eligible})" if eligible else "",
        is_dangerous=action.is_dangerous,
        post_to=reverse("admin:orchestrator_job_act", args=[action.verb]),
        kept={"ids": ",".join(map(str, ids)), "filters": filters, "from_job": "1" if from_job else ""},
        back=back_to(ids, filters=filters, from_job=from_job),
    )


def act(model_admin: Any, request: HttpRequest, action: Action | None) -> HttpResponse:
    """Do what was confirmed, and report; clicked twice, the second finds nothing left to do."""
    if action is None:
        raise Http404
    if not model_admin.has_operate_permission(request):
        raise PermissionDenied
    ids = read_ids(request.POST.get("ids", ""))
    if not 0 < len(ids) <= MOST_ACTED_ON:
        messages.error(request, f"Select from 1 to {MOST_ACTED_ON} jobs.")
        return HttpResponseRedirect(reverse("admin:orchestrator_job_changelist"))
    filters, from_job = request.POST.get("filters", ""), bool(request.POST.get("from_job"))
    form = ReasonForm(request.POST)
    if not form.is_valid():
        return ask(model_admin, request, action, ids, form=form, filters=filters, from_job=from_job)
    moved, report = perform(action, ids, reason=form.cleaned_data["reason"])
    messages.add_message(request, messages.SUCCESS if moved else messages.WARNING, report)
    return HttpResponseRedirect(back_to(ids, filters=filters, from_job=from_job))


def read_ids(text: str) -> list[UUID]:
    """Return the ids of a list, each once; what is none is left out."""
    found: dict[UUID, None] = {}
    for word in text.split(","):
        with suppress(ValueError):
            found[UUID(word)] = None
    return list(found)


def back_to(ids: list[UUID], *, filters: str, from_job: bool) -> str:
    """Return where the operator came from."""
    if from_job:
        return reverse("admin:orchestrator_job_change", args=[ids[0]])
    return reverse("admin:orchestrator_job_changelist") + (f"?{filters}" if filters else "")

"""The page between an operator and an action: what it will do, why it is done, and then the report (CON-4, CON-9)."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from pdfjobs.admin.actions import MOST_ACTED_ON, Action, ReasonForm, perform, preview
from pdfjobs.admin.dress import page
from pdfjobs.models.queryset import PdfJobQuerySet
from pdfjobs.store import StoreDown


def ask_for_selected(
    model_admin: Any, request: HttpRequest, action: Action, rows: PdfJobQuerySet
) -> HttpResponse | None:
    """Ask about the rows selected in the list; what is asked about is what will be acted on."""
    ids = list(rows.order_by().values_list("pk", flat=True)[: MOST_ACTED_ON + 1])
    if len(ids) > MOST_ACTED_ON:
        messages.error(request, f"At most {MOST_ACTED_ON:,} rows at once.")
        return None
    return ask(model_admin, request, action, ids, filters=request.GET.urlencode())


def ask_for_row(model_admin: Any, request: HttpRequest, action: Action, object_id: str) -> HttpResponse:
    """Ask about one job, from its own page."""
    pk = read_id(unquote(object_id))
    if pk is None:
        raise Http404
    return ask(model_admin, request, action, [pk], from_row=True)


def ask(
    model_admin: Any,
    request: HttpRequest,
    action: Action,
    ids: list[UUID],
    *,
    filters: str = "",
    from_row: bool = False,
    form: ReasonForm | None = None,
) -> HttpResponse:
    """Say what an action will do, and ask why."""
    seen = preview(action, ids)
    return page(
        model_admin,
        request,
        "confirm.html",
        title=action.label,
        sentences=seen.sentences(action),
        form=form or ReasonForm(),
        submit=f"{action.title} ({seen.eligible:,})" if seen.eligible else "",
        is_dangerous=action.is_dangerous,
        post_to=reverse("admin:pdfjobs_pdfjob_act", args=[action.verb]),
        kept={"ids": ",".join(map(str, ids)), "filters": filters, "from_row": "1" if from_row else ""},
        back=_back(ids, filters=filters, from_row=from_row),
    )


def act(model_admin: Any, request: HttpRequest, action: Action | None) -> HttpResponse:
    """Do what was confirmed, and report."""
    if action is None:
        raise Http404
    if not model_admin.has_operate_permission(request):
        raise PermissionDenied
    ids = [pk for text in request.POST.get("ids", "").split(",") if (pk := read_id(text))]
    if not 0 < len(ids) <= MOST_ACTED_ON:
        messages.error(request, f"Select from 1 to {MOST_ACTED_ON:,} rows.")
        return HttpResponseRedirect(reverse("admin:pdfjobs_pdfjob_changelist"))
    filters, from_row = request.POST.get("filters", ""), bool(request.POST.get("from_row"))
    form = ReasonForm(request.POST)
    if not form.is_valid():
        return ask(model_admin, request, action, ids, form=form, filters=filters, from_row=from_row)
    try:
        moved, report = perform(action, ids, reason=form.cleaned_data["reason"])
        messages.add_message(request, messages.SUCCESS if moved else messages.WARNING, report)
    except StoreDown as error:
        messages.error(request, f"The store of PDF files does not answer, so nothing was expired: {error}")
    return HttpResponseRedirect(_back(ids, filters=filters, from_row=from_row))


def read_id(text: str) -> UUID | None:
    """Return an id, or none for nonsense."""
    try:
        return UUID(text)
    except ValueError:
        return None


def _back(ids: list[UUID], *, filters: str, from_row: bool) -> str:
    if from_row:
        return reverse("admin:pdfjobs_pdfjob_change", args=[ids[0]])
    return reverse("admin:pdfjobs_pdfjob_changelist") + (f"?{filters}" if filters else "")

"""Retract and Change value: pages of a conversion that add an adjustment, after saying what happens next."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminTextInputWidget

from kilit.access.encryption import DecryptionError
from kilit.api.input_model import FieldError, format_error
from kilit.console.formatting import page
from kilit.console.jobs.job_page import JobOffer
from kilit.console.lists.actions import ReasonForm, recent_reasons
from kilit.lock.audit import for_reason
from ociqueue.admin.base.columns import amount
from ociqueue.intake.adjustments import adjust
from ociqueue.models import Adjustment, Conversion, Credentials
from ociqueue.schemas.answers import AdjustmentResult
from ociqueue.states import WAITING, AdjustmentKind, ConversionStatus, SyncMethod
from ociqueue.uploader.routes import has_developer_token
from ociqueue.values.currencies import MINOR_UNITS

RETRACT, CHANGE_VALUE = gettext_lazy("Retract"), gettext_lazy("Change value")
TITLES = {AdjustmentKind.RETRACTION: RETRACT, AdjustmentKind.RESTATEMENT: CHANGE_VALUE}


class RetractForm(ReasonForm):
    # The newest adjustment when the page was shown: what came after it was not seen.
    newest = forms.CharField(required=False, widget=forms.HiddenInput)

    def item(self) -> dict[str, str]:
        return {"kind": AdjustmentKind.RETRACTION}

    def show(self, errors: Sequence[FieldError]) -> None:
        for error in errors:
            name = error["field"]
            self.add_error(name if name in self.fields else None, capfirst(error["message"]))


class ChangeValueForm(RetractForm):
    value = forms.CharField(
        label=gettext_lazy("New value"),
        max_length=20,
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off", "inputmode": "decimal", "autofocus": True}),
        help_text=gettext_lazy("The whole value, not the difference, as in 80.50."),
    )
    currency = forms.CharField(
        label=gettext_lazy("Currency"), max_length=3, widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"})
    )
    field_order = ("value", "currency", "reason")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["reason"].widget.attrs.pop("autofocus", None)

    def item(self) -> dict[str, str]:
        given = self.cleaned_data
        return {"kind": AdjustmentKind.RESTATEMENT, "value": given["value"], "currency": given["currency"]}


FORMS = {AdjustmentKind.RETRACTION: RetractForm, AdjustmentKind.RESTATEMENT: ChangeValueForm}


def adjustment_offers(model_admin: ModelAdmin, row: Conversion) -> dict[str, JobOffer]:
    """Return the buttons for adjustments that would be accepted now."""
    if row.status == ConversionStatus.FAILED:  # there is nothing to adjust
        return {}
    # In this order: nothing follows a retraction.
    change, retract = adjust(row.site, [trial(row, kind) for kind in reversed(AdjustmentKind)], dry_run=True)
    offers = {}
    if change["status"] != "invalid":
        offers["change_value"] = JobOffer(CHANGE_VALUE, "price_change", model_admin.address("change_value", row.pk))
    if retract["status"] == "created":
        href = model_admin.address("retract", row.pk)
        offers["retract"] = JobOffer(RETRACT, "undo", href, is_dangerous=True)
    return offers


def trial(row: Conversion, kind: AdjustmentKind) -> dict[str, object]:
    return {"id": str(row), "kind": kind, **({"value": 0} if kind == AdjustmentKind.RESTATEMENT else {})}


def adjust_page(model_admin: ModelAdmin, request: HttpRequest, object_id: str, *, kind: AdjustmentKind) -> HttpResponse:
    row: Conversion | None = model_admin.get_object(request, unquote(object_id))
    if row is None:
        raise Http404
    if not model_admin.has_operate_permission(request, str(row.pk)):
        raise PermissionDenied
    back = HttpResponseRedirect(model_admin.address("change", row.pk))
    newest = newest_of(row)
    form = FORMS[kind](request.POST or None, initial=_initial(row, newest))
    if form.is_valid():
        result = add(row, form)
        if result["status"] != "invalid":
            messages.success(request, _done(result, kind))
            return back
        form.show(result["errors"])
    elif request.method != "POST" and (reason := why_not_adjust(row, kind)):
        messages.warning(request, _("It cannot be adjusted: %(reason)s") % {"reason": reason})
        return back
    return _ask(model_admin, request, row, newest, kind=kind, form=form)


def why_not_adjust(row: Conversion, kind: AdjustmentKind) -> str:
    """Return why an adjustment would be refused, or "" ."""
    if row.status == ConversionStatus.FAILED:
        return _("The conversion failed, so there is nothing to adjust.")
    (result,) = adjust(row.site, [trial(row, kind)], dry_run=True)
    if result["status"] == "duplicate" and kind == AdjustmentKind.RETRACTION:
        return _("It was retracted already.")
    return "; ".join(map(format_error, result.get("errors", [])))


def newest_of(row: Conversion) -> Adjustment | None:
    return Adjustment.objects.filter(original=row.pk).order_by("-adjusted_at").first()


def add(row: Conversion, form: RetractForm) -> AdjustmentResult:
    """Add the adjustment, unless another was added since the page was shown; the same one twice is one."""
    item = {"id": str(row), **form.item()}
    with transaction.atomic(), for_reason(form.cleaned_data["reason"]):
        Conversion.objects.filter(pk=row.pk).lock_in_order()
        newest = newest_of(row)
        if str(newest or "") != form.cleaned_data["newest"]:
            (result,) = adjust(row.site, [item], dry_run=True)
            if result["status"] == "created":
                changed = _("It was adjusted meanwhile. Look at its page, then begin again.")
                return {"index": 0, "status": "invalid", "errors": [{"field": "", "message": changed}]}
        (result,) = adjust(row.site, [item])
        return result


def _done(result: AdjustmentResult, kind: AdjustmentKind) -> str:
    if result["status"] == "duplicate":
        return _("This adjustment was added already; nothing was changed.")
    if kind == AdjustmentKind.RESTATEMENT:
        return _("The new value was added to the conversion's adjustments.")
    if result.get("state") == ConversionStatus.COMPLETED:
        return _("Retracted. Nothing is sent.")
    return _("The retraction was added to the conversion's adjustments.")


def what_happens(row: Conversion, kind: AdjustmentKind) -> str:
    if row.status != ConversionStatus.COMPLETED:
        if kind == AdjustmentKind.RETRACTION and row.status in WAITING and not row.outcome_unknown:
            return _("It has not been sent. Both end here and nothing is sent.")
        return _("It is sent to Google when the conversion is COMPLETED.")
    if kind == AdjustmentKind.RESTATEMENT:
        return _("The new value is sent to Google, where it takes the place of the current value.")
    if row.site.sync_method == SyncMethod.DATA_MANAGER and not _can_retract(row):
        return _("Data Manager cannot retract: the value becomes 0, the count stays.")
    return _("Google takes the conversion back: neither its value nor the conversion itself is counted any more.")


def _can_retract(row: Conversion) -> bool:
    try:
        return has_developer_token(row.site)
    except (Credentials.DoesNotExist, DecryptionError):
        return False


def _initial(row: Conversion, newest: Adjustment | None) -> dict[str, str]:
    current = _current(row, newest)
    digits = MINOR_UNITS.get(current.currency, 2)
    return {"newest": str(newest or ""), "value": f"{current.value:.{digits}f}", "currency": current.currency}


def _current(row: Conversion, newest: Adjustment | None) -> Any:
    """Return what has the value that is in force, or will be: the newest restatement that did not fail."""
    is_in_force = newest and newest.value is not None and newest.status != ConversionStatus.FAILED
    return newest if is_in_force else row


def _ask(
    model_admin: ModelAdmin,
    request: HttpRequest,
    row: Conversion,
    newest: Adjustment | None,
    *,
    kind: AdjustmentKind,
    form: RetractForm,
) -> HttpResponse:
    sentences = [what_happens(row, kind)]
    if kind == AdjustmentKind.RETRACTION:
        sentences.append(_("Nothing can follow a retraction."))
    return page(
        model_admin,
        request,
        "admin/console/confirm.html",
        title=f"{TITLES[kind]}: {model_admin.row_name(row)}",
        sentences=sentences,
        facts=[(_("Current value"), amount(_current(row, newest)))],
        form=form,
        submit=TITLES[kind],
        reasons=recent_reasons(request.user, "JOB_CREATED"),
        is_dangerous=kind == AdjustmentKind.RETRACTION,
        back=model_admin.address("change", row.pk),
    )

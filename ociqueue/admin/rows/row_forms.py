"""The pages that change a conversion, after saying what happens next: Correct and resend, Retract, Change value.

A correction changes a row that waits; in place of one that has ended, a copy with the changes is sent.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, get_args

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_stubs_ext import StrOrPromise
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminTextInputWidget

from kilit.api.input_model import FieldError
from kilit.console.jobs.job_page import JobOffer, Offers
from kilit.console.lists.confirming import ReasonForm, reason_field
from kilit.console.lists.fields import choice_field, text_field
from kilit.lock.audit import for_reason
from kilit.machine_errors import explain
from ociqueue.admin.base.columns import amount, row_page
from ociqueue.codes.table import ORDER_ID_IN_USE
from ociqueue.intake.adjustments import adjust, adjust_after, in_force, newest_of, trial, why_not_adjust
from ociqueue.intake.corrections import Correction, may_be_counted, replace_rows, why_not
from ociqueue.models import Conversion
from ociqueue.problems.adjustment_blockers import what_happens
from ociqueue.schemas.columns import format_amount
from ociqueue.schemas.conversions import CONSENTS, LONGEST_IDENTIFIER, ConsentGiven, format_consent
from ociqueue.schemas.responses import AdjustmentResult
from ociqueue.states import WAITING, AdjustmentKind, ConversionStatus, EventSource


def _consent(label: StrOrPromise) -> forms.ChoiceField:
    choices = [("", gettext_lazy("not given")), *((name, name) for name in get_args(ConsentGiven))]
    return choice_field(label, choices, required=False)


class UnrepeatedInput(UnfoldAdminTextInputWidget):
    """An input for what no page may show again, also not beside an error."""

    def format_value(self, value: object) -> None:
        return None


def _identifier(label: StrOrPromise) -> forms.CharField:
    help_text = gettext_lazy("Only its hash is stored. Empty keeps what is stored.")
    return text_field(label, LONGEST_IDENTIFIER, required=False, widget=UnrepeatedInput, help_text=help_text)


class CorrectionForm(forms.Form):
    kind = choice_field(gettext_lazy("Kind of click id"), [(name, name) for name in Conversion.CLICK_IDS])
    click_id = text_field(gettext_lazy("Click id"), 512)
    email = _identifier(gettext_lazy("E-mail"))
    phone = _identifier(gettext_lazy("Phone"))
    conversionTime = text_field(
        gettext_lazy("Conversion time"),
        40,
        help_text=gettext_lazy("With its offset from UTC, as in 2026-11-15T13:45:00+03:00."),
    )
    conversionValue = text_field(gettext_lazy("Value"), 20)
    conversionCurrency = text_field(gettext_lazy("Currency"), 3)
    consentAdUserData = _consent(gettext_lazy("Consent: ad user data"))
    consentAdPersonalization = _consent(gettext_lazy("Consent: ad personalization"))
    eventSource = choice_field(
        gettext_lazy("Event source"),
        EventSource.choices,
        required=False,
        help_text=gettext_lazy("Where it happened. Only the Data Manager API receives it."),
    )
    reason = reason_field(
        gettext_lazy("Shown in the timeline of both conversions, with your name."),
        label=gettext_lazy("Reason (optional)"),
        required=False,
    )

    VALUES: ClassVar = ("conversionTime", "conversionValue", "conversionCurrency", *CONSENTS, "eventSource")
    IDENTIFIERS: ClassVar = ("email", "phone")

    def __init__(self, data: Any, *, row: Conversion) -> None:
        super().__init__(data, initial=_values(row))
        self.fields["click_id"].required = bool(row.click_id)
        for name in () if row.site.accepts_identifiers else self.IDENTIFIERS:
            del self.fields[name]

    def changes(self) -> dict[str, str]:
        data = self.cleaned_data
        names = (*self.VALUES, *self.IDENTIFIERS)
        return {data["kind"]: data["click_id"], **{name: data[name] for name in names if name in data}}


def show_errors(form: forms.Form, errors: Sequence[FieldError]) -> None:
    """Show each error at its field; every kind of click id has the same field."""
    for error in errors:
        name = "click_id" if error["field"] in Conversion.CLICK_IDS else error["field"]
        form.add_error(name if name in form.fields else None, capfirst(error["message"]))


def correct_page(model_admin: ModelAdmin, request: HttpRequest, row: Conversion) -> HttpResponse | None:
    if reason := why_not(row):
        messages.warning(request, _("It cannot be corrected: %(reason)s.") % {"reason": reason})
        return None
    form = CorrectionForm(request.POST or None, row=row)
    if form.is_valid():
        with for_reason(form.cleaned_data["reason"]):
            (result,) = replace_rows(row.site, [Correction(str(row), form.changes(), may_count_twice=True)])
        if sent := result.corrected:
            done = _("Corrected. This copy is sent in place of %(name)s.") % {"name": model_admin.page.name(row)}
            messages.success(request, done if result.copy else _("Corrected."))
            return HttpResponseRedirect(model_admin.address("change", sent.pk))
        show_errors(form, result.errors or [{"field": "", "message": f"{result.message}."}])
    return _ask(model_admin, request, row, form)


def _ask(model_admin: ModelAdmin, request: HttpRequest, row: Conversion, form: CorrectionForm) -> HttpResponse:
    error = f"{row.provider_error_code}: {explain(row.last_error)}"
    effect = _("A corrected copy is sent in its place, under the same order id. This one stays as it is.")
    if may_be_counted(row) and row.provider_error_code != ORDER_ID_IN_USE:
        effect = _("A corrected copy is sent in its place. If Google counted this one before, it counts twice.")
    elif may_be_counted(row):
        effect = _("A corrected copy is sent under another order id. If Google counted this one, it counts twice.")
    is_waiting = row.status in WAITING
    if is_waiting:
        effect = _("It is sent with your corrections. The timeline says what was changed.")
    title = _("Correct %(name)s") if is_waiting else _("Correct and resend %(name)s")
    return model_admin.confirm(
        request,
        row,
        title=title % {"name": model_admin.page.name(row)},
        sentences=[error, effect] if row.status == ConversionStatus.FAILED else [effect],
        form=form,
        submit=_("Correct") if is_waiting else _("Correct and resend"),
    )


def _values(row: Conversion) -> dict[str, str]:
    return {
        "kind": row.kind_of_click_id or Conversion.CLICK_IDS[0],
        "click_id": row.click_id,
        "conversionTime": timezone.localtime(row.conversion_time).isoformat(timespec="seconds"),
        "conversionValue": format_amount(row.value, row.currency),
        "conversionCurrency": row.currency,
        "consentAdUserData": format_consent(row.consent_ad_user_data),
        "consentAdPersonalization": format_consent(row.consent_ad_personalization),
        "eventSource": row.event_source,
    }


RETRACT, CHANGE_VALUE = gettext_lazy("Retract"), gettext_lazy("Change value")
TITLES = {AdjustmentKind.RETRACTION: RETRACT, AdjustmentKind.RESTATEMENT: CHANGE_VALUE}


class RetractForm(ReasonForm):
    # The newest adjustment when the page was shown: what came after it was not seen.
    newest = forms.CharField(required=False, widget=forms.HiddenInput)

    def item(self) -> dict[str, str]:
        return {"kind": AdjustmentKind.RETRACTION}


class ChangeValueForm(RetractForm):
    value = text_field(
        gettext_lazy("New value"),
        20,
        attrs={"inputmode": "decimal", "autofocus": True},
        help_text=gettext_lazy("The whole value, not the difference, as in 80.50."),
    )
    currency = text_field(gettext_lazy("Currency"), 3)
    field_order = ("value", "currency", "reason")

    def item(self) -> dict[str, str]:
        data = self.cleaned_data
        return {"kind": AdjustmentKind.RESTATEMENT, "value": data["value"], "currency": data["currency"]}


FORMS = {AdjustmentKind.RETRACTION: RetractForm, AdjustmentKind.RESTATEMENT: ChangeValueForm}


def with_forms(row: Conversion, offers: Offers, _user: object) -> Offers:
    if not why_not(row):
        label = _("Correct") if row.status in WAITING else _("Correct and resend")
        offers = {"correct": JobOffer(label, row_page("correct", row.pk)), **offers}
    if row.status == ConversionStatus.FAILED:  # there is nothing to adjust
        return offers
    # In this order: nothing follows a retraction.
    change, retract = adjust(row.site, [trial(row, kind) for kind in reversed(AdjustmentKind)], dry_run=True)
    if change["status"] != "invalid":
        offers = {**offers, "change_value": JobOffer(CHANGE_VALUE, row_page("change_value", row.pk))}
    if retract["status"] == "created":
        offers = {**offers, "retract": JobOffer(RETRACT, row_page("retract", row.pk), is_dangerous=True)}
    return offers


def adjust_page(
    kind: AdjustmentKind, model_admin: ModelAdmin, request: HttpRequest, row: Conversion
) -> HttpResponse | None:
    newest = newest_of(row)
    current = in_force(row, newest)
    value = {"value": format_amount(current.value, current.currency), "currency": current.currency}
    form = FORMS[kind](request.POST or None, initial={"newest": str(newest or ""), **value})
    if form.is_valid():
        with for_reason(form.cleaned_data["reason"]):
            result = adjust_after(row, form.item(), newest=form.cleaned_data["newest"])
        if result["status"] != "invalid":
            messages.success(request, _done(result, kind))
            return None
        show_errors(form, result["errors"])
    elif request.method != "POST" and (reason := why_not_adjust(row, kind)):
        messages.warning(request, _("It cannot be adjusted: %(reason)s") % {"reason": reason})
        return None
    is_retraction = kind == AdjustmentKind.RETRACTION
    return model_admin.confirm(
        request,
        row,
        title=f"{TITLES[kind]}: {model_admin.page.name(row)}",
        sentences=[what_happens(row, kind), *([_("Nothing can follow a retraction.")] if is_retraction else [])],
        facts=[(_("Current value"), amount(current))],
        form=form,
        submit=TITLES[kind],
        reasons_for="JOB_CREATED",
        is_dangerous=is_retraction,
    )


def _done(result: AdjustmentResult, kind: AdjustmentKind) -> str:
    if result["status"] == "duplicate":
        return _("This adjustment was added already; nothing was changed.")
    if kind == AdjustmentKind.RESTATEMENT:
        return _("The new value was added to the conversion's adjustments.")
    if result.get("state") == ConversionStatus.COMPLETED:
        return _("Retracted. Nothing is sent.")
    return _("The retraction was added to the conversion's adjustments.")

"""Correct and resend: a form with a row's own values.

A row that waits is changed; in place of one that has ended, a copy with the changes is sent.
"""

from typing import Any, ClassVar, get_args

from django import forms
from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_stubs_ext import StrOrPromise
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from kilit.console.formatting import page
from kilit.lock.audit import for_reason
from kilit.machine_errors import explain
from ociqueue.intake.corrected_rows import ORDER_ID_IN_USE, may_be_counted, why_not
from ociqueue.intake.corrections import Correction, replace_rows
from ociqueue.models import Conversion
from ociqueue.schemas.conversions import CONSENTS, LONGEST_IDENTIFIER, ConsentGiven, format_consent
from ociqueue.states import WAITING, ConversionStatus, EventSource
from ociqueue.values.currencies import MINOR_UNITS


def _text(label: StrOrPromise, most: int, **options: Any) -> forms.CharField:
    widget = UnfoldAdminTextInputWidget(attrs={"autocomplete": "off", "spellcheck": "false"})
    return forms.CharField(label=label, max_length=most, widget=widget, **options)


def _consent(label: StrOrPromise) -> forms.ChoiceField:
    choices = [("", gettext_lazy("not given")), *((name, name) for name in get_args(ConsentGiven))]
    return forms.ChoiceField(label=label, choices=choices, required=False, widget=UnfoldAdminSelectWidget)


class UnrepeatedInput(UnfoldAdminTextInputWidget):
    """An input for what no page may show again, also not beside an error."""

    def format_value(self, value: object) -> None:
        return None


def _identifier(label: StrOrPromise) -> forms.CharField:
    return forms.CharField(
        label=label,
        max_length=LONGEST_IDENTIFIER,
        required=False,
        widget=UnrepeatedInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        help_text=gettext_lazy("Only its hash is stored. Empty keeps what is stored."),
    )


class CorrectionForm(forms.Form):
    kind = forms.ChoiceField(
        label=gettext_lazy("Kind of click id"),
        choices=[(name, name) for name in Conversion.CLICK_IDS],
        widget=UnfoldAdminSelectWidget,
    )
    click_id = _text(gettext_lazy("Click id"), 512)
    email = _identifier(gettext_lazy("E-mail"))
    phone = _identifier(gettext_lazy("Phone"))
    conversionTime = _text(
        gettext_lazy("Conversion time"),
        40,
        help_text=gettext_lazy("With its offset from UTC, as in 2026-11-15T13:45:00+03:00."),
    )
    conversionValue = _text(gettext_lazy("Value"), 20)
    conversionCurrency = _text(gettext_lazy("Currency"), 3)
    consentAdUserData = _consent(gettext_lazy("Consent: ad user data"))
    consentAdPersonalization = _consent(gettext_lazy("Consent: ad personalization"))
    eventSource = forms.ChoiceField(
        label=gettext_lazy("Event source"),
        choices=EventSource.choices,
        required=False,
        widget=UnfoldAdminSelectWidget,
        help_text=gettext_lazy("Where it happened. Only the Data Manager API receives it."),
    )
    reason = _text(
        gettext_lazy("Reason (optional)"),
        1000,
        required=False,
        help_text=gettext_lazy("Shown in the timeline of both conversions, with your name."),
    )

    VALUES: ClassVar = ("conversionTime", "conversionValue", "conversionCurrency", *CONSENTS, "eventSource")
    IDENTIFIERS: ClassVar = ("email", "phone")

    def __init__(self, data: Any, *, row: Conversion) -> None:
        super().__init__(data, initial=_values(row))
        self.fields["click_id"].required = bool(row.click_id)
        for name in () if row.site.accepts_identifiers else self.IDENTIFIERS:
            del self.fields[name]

    def changes(self) -> dict[str, str]:
        given = self.cleaned_data
        names = (*self.VALUES, *self.IDENTIFIERS)
        return {given["kind"]: given["click_id"], **{name: given[name] for name in names if name in given}}

    def show(self, errors: Any) -> None:
        """Show each error at its field; an error of a click id, of whichever kind, at the click id."""
        for error in errors:
            name = "click_id" if error["field"] in Conversion.CLICK_IDS else error["field"]
            self.add_error(name if name in self.fields else None, capfirst(error["message"]))


def correct_page(model_admin: ModelAdmin, request: HttpRequest, object_id: str) -> HttpResponse:
    row: Conversion | None = model_admin.get_object(request, unquote(object_id))
    if row is None:
        raise Http404
    if not model_admin.has_operate_permission(request, str(row.pk)):
        raise PermissionDenied
    if reason := why_not(row):
        messages.warning(request, _("It cannot be corrected: %(reason)s.") % {"reason": reason})
        return HttpResponseRedirect(model_admin.address("change", row.pk))
    form = CorrectionForm(request.POST or None, row=row)
    if form.is_valid():
        with for_reason(form.cleaned_data["reason"]):
            (result,) = replace_rows(row.site, [Correction(str(row), form.changes(), may_count_twice=True)])
        if sent := result.corrected:
            done = _("Corrected. This copy is sent in place of %(name)s.") % {"name": model_admin.row_name(row)}
            messages.success(request, done if result.copy else _("Corrected."))
            return HttpResponseRedirect(model_admin.address("change", sent.pk))
        form.show(result.errors or [{"field": "", "message": f"{result.message}."}])
    return _ask(model_admin, request, row, form)


def _ask(model_admin: ModelAdmin, request: HttpRequest, row: Conversion, form: CorrectionForm) -> HttpResponse:
    error = f"{row.provider_error_code}: {explain(row.last_error)}"
    effect = _("A copy with your corrections is sent in its place, under the same order id. This one stays as it is.")
    if may_be_counted(row) and row.provider_error_code != ORDER_ID_IN_USE:
        effect = _(
            "A copy with your corrections is sent in its place. Google has counted a conversion of this click at this "
            "time before. If that was this conversion, it counts twice."
        )
    elif may_be_counted(row):
        effect = _(
            "A copy with your corrections is sent in its place, under another order id, because Google has counted "
            "this one before. If that was this conversion, it counts twice."
        )
    is_waiting = row.status in WAITING
    if is_waiting:
        effect = _("It is sent with your corrections. The timeline says what was changed.")
    return page(
        model_admin,
        request,
        "admin/console/confirm.html",
        title=(_("Correct %(name)s") if is_waiting else _("Correct and resend %(name)s"))
        % {"name": model_admin.row_name(row)},
        sentences=[error, effect] if row.status == ConversionStatus.FAILED else [effect],
        form=form,
        submit=_("Correct") if is_waiting else _("Correct and resend"),
        back=model_admin.address("change", row.pk),
    )


def _values(row: Conversion) -> dict[str, str]:
    return {
        "kind": next((name for name in Conversion.CLICK_IDS if getattr(row, name)), Conversion.CLICK_IDS[0]),
        "click_id": row.click_id,
        "conversionTime": timezone.localtime(row.conversion_time).isoformat(timespec="seconds"),
        "conversionValue": f"{row.value:.{MINOR_UNITS.get(row.currency, 2)}f}",
        "conversionCurrency": row.currency,
        "consentAdUserData": format_consent(row.consent_ad_user_data),
        "consentAdPersonalization": format_consent(row.consent_ad_personalization),
        "eventSource": row.event_source,
    }

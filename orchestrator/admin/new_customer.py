"""Adds the customer of a held order, and continues all its jobs, with one form on the job's page."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin
from django.db import transaction
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from unfold.widgets import UnfoldAdminTextInputWidget, UnfoldBooleanWidget

from kilit.console.formatting import number
from kilit.console.lists.actions import Action, ActionReport
from kilit.lock.audit import for_reason
from orchestrator.errors import Code
from orchestrator.models import Customer, Job
from orchestrator.schemas.orders import InvalidOrder, NewCustomer
from orchestrator.states import JobState

REASON = "The customer was added."
MOST_CONTINUED = 500  # as many as an action on a selection


def format_phone(phone: str) -> str:
    """Return an E.164 number as people read it: +90 555 123 45 67."""
    import phonenumbers

    parsed = phonenumbers.parse(phone)
    return phonenumbers.format_number(parsed, phonenumbers.PhoneNumberFormat.INTERNATIONAL)


def held_jobs(phone: str) -> Any:
    return Job.objects.filter(customer_phone=phone, status=JobState.HOLD, error_code=Code.CRM_NO_MATCH)


class HeldCustomerForm(forms.Form):
    """The name of a customer whose phone number the order gives."""

    name = forms.CharField(
        label=gettext_lazy("Customer's name"),
        max_length=200,
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
    )
    all_jobs = forms.BooleanField(required=False, initial=True, widget=UnfoldBooleanWidget())

    def __init__(self, job: Job, data: Any = None) -> None:
        super().__init__(data, initial={"name": job.customer_snapshot_name})
        self.job = job
        self.fields["name"].help_text = _("Phone: %(phone)s") % {"phone": format_phone(job.customer_phone)}
        others = held_jobs(job.customer_phone).exclude(pk=job.pk)[:MOST_CONTINUED].count()
        if others:
            text = ngettext(
                "Also continue the other job of this customer",
                "Also continue the %(number)s other jobs of this customer",
                others,
            )
            self.fields["all_jobs"].label = text % {"number": number(others)}
        else:
            del self.fields["all_jobs"]

    def clean_name(self) -> str:
        try:
            return NewCustomer.read({"phone": self.job.customer_phone, "name": self.cleaned_data["name"]}).name
        except InvalidOrder as invalid:
            raise forms.ValidationError([_(error["message"]) for error in invalid.errors]) from None

    def ids(self) -> list[UUID]:
        if not self.cleaned_data.get("all_jobs"):
            return [self.job.pk]
        found = held_jobs(self.job.customer_phone).order_by("pk").values_list("pk", flat=True)
        return list(dict.fromkeys([self.job.pk, *found[: MOST_CONTINUED - 1]]))

    def save(self, request: HttpRequest, approve: Action, ids: list[UUID]) -> tuple[Customer, ActionReport]:
        """Add the customer and approve the jobs, both or neither; one that was added meanwhile stays as it is."""
        with transaction.atomic(), for_reason(REASON):
            customer, is_new = Customer.objects.get_or_create(
                phone=self.job.customer_phone, defaults={"name": self.cleaned_data["name"]}
            )
            if is_new:
                admin.site.get_model_admin(Customer).log_addition(request, customer, [{"added": {}}])
            return customer, approve.perform(request.user, ids, {})

"""The ways on from errors of cutting jobs that are no operations, and the form that adds customers."""

from collections.abc import Iterable
from dataclasses import replace
from uuid import UUID

from django import forms
from django.contrib import admin
from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction
from django.http import HttpRequest, QueryDict
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kilit.console.formatting import number
from kilit.console.jobs.job_page import JobOffer, Offers, RowStep
from kilit.console.lists.actions import Action, ActionReport
from kilit.console.lists.fields import text_field
from kilit.lock.audit import for_reason
from kilit.problems import blockers
from orchestrator import sentences
from orchestrator.blockers import preflight_address, rules_address
from orchestrator.models import Customer, Job
from orchestrator.models.job import JobQuerySet
from orchestrator.orders.order import order_from
from orchestrator.planning.excel.template import is_template_invalid
from orchestrator.planning.plan import add_text, missing_rules
from orchestrator.planning.rules import valid_rules
from orchestrator.schemas.orders import InvalidOrder, NewCustomer
from orchestrator.states import JobState
from orchestrator.workflow.decisions import can_be_sent_again

MOST_CONTINUED = 500  # as many as an action on a selection
MOST_CUSTOMERS = 50  # in one form
ORDERS_NAMED = 3


def format_phone(phone: str) -> str:
    """Return an E.164 number as people read it: +90 555 123 45 67."""
    import phonenumbers

    parsed = phonenumbers.parse(phone)
    return phonenumbers.format_number(parsed, phonenumbers.PhoneNumberFormat.INTERNATIONAL)


class HeldCustomersForm(forms.Form):
    """Asks for the names of customers whose jobs wait, each once; one without a name stays unknown."""

    def __init__(self, jobs: JobQuerySet, data: QueryDict | None = None) -> None:
        super().__init__(data)
        self.orders: dict[str, list[str]] = {}
        rows = jobs.order_by("pk").values_list("customer_phone", "order_id", "customer_snapshot_name")
        for phone, order, name in rows[:MOST_CONTINUED]:
            if phone not in self.orders and len(self.orders) == MOST_CUSTOMERS:
                continue
            self.orders.setdefault(phone, []).append(order)
            self._add_field(phone, name)

    def _add_field(self, phone: str, name: str) -> None:
        orders = self.orders[phone]
        waiting = ngettext("%(number)s job waits", "%(number)s jobs wait", len(orders))
        label = _("Name of %(phone)s") % {"phone": format_phone(phone)}
        help_text = f"{waiting % {'number': number(len(orders))}}: {', '.join(orders[:ORDERS_NAMED])}"
        self.fields[phone] = text_field(label, 200, required=False, initial=name, help_text=help_text)

    def clean(self) -> dict[str, str]:
        names = {phone: name.strip() for phone, name in self.cleaned_data.items() if name.strip()}
        for phone, name in names.items():
            try:
                NewCustomer.read({"phone": phone, "name": name})
            except InvalidOrder as invalid:
                self.add_error(phone, [_(error["message"]) for error in invalid.errors])
        if not names:
            self.add_error(next(iter(self.fields), None), _("Enter a name."))
        return names

    def save(self, request: HttpRequest, approve: Action, ids: list[UUID]) -> tuple[list[Customer], ActionReport]:
        """Add the customers and approve their jobs, both or neither; one that was added meanwhile stays as it is."""
        with transaction.atomic(), for_reason(sentences.CUSTOMER_ADDED):
            customers = [self._add(request, phone, name) for phone, name in self.cleaned_data.items()]
            return customers, approve.perform(request.user, ids, {})

    def _add(self, request: HttpRequest, phone: str, name: str) -> Customer:
        customer, is_new = Customer.objects.get_or_create(phone=phone, defaults={"name": name})
        if is_new:
            admin.site.get_model_admin(Customer).log_addition(request, customer, [{"added": {}}])
        return customer


def add_customers_title(phones: Iterable[str]) -> str:
    first, *others = phones
    if not others:
        return _("Add %(phone)s as customer and continue") % {"phone": format_phone(first)}
    return _("Add %(number)s customers and continue their jobs") % {"number": number(len(others) + 1)}


def send_again_title(job: Job) -> str:
    return _("Send again as revision %(number)s") % {"number": job.revision + 1}


def _customers(job: Job, _offers: Offers, user: User | AnonymousUser) -> JobOffer | None:
    is_known = Customer.objects.filter(phone=job.customer_phone).exists()
    if is_known or not user.has_perm("orchestrator.operate_customer"):
        return None
    href = f"{reverse('admin:orchestrator_job_add_customers')}?{urlencode({'phone': job.customer_phone})}"
    form = HeldCustomersForm(Job.objects.with_unknown_customer().filter(customer_phone=job.customer_phone))
    return JobOffer(add_customers_title([job.customer_phone]), href, form=form)


def _rules(job: Job, _offers: Offers, _user: object) -> JobOffer | None:
    """Lead to the rules while they lack something; afterwards the job can be approved or retried."""
    rules = valid_rules()
    missing = missing_rules(order_from(job.payload), rules) if rules else []
    if rules and not missing:
        return None
    return JobOffer(add_text(missing) if missing else _("Open the rules"), rules_address(job))


def _template(_job: Job, _offers: Offers, _user: object) -> JobOffer | None:
    """Lead to the preflight while this machine sees that the template is invalid."""
    return JobOffer(_("Check the template"), preflight_address()) if is_template_invalid() else None


def _started(_job: Job, offers: Offers, _user: object) -> JobOffer | None:
    approve = offers.get("approve")
    return replace(approve, title=_("I have started OptiPlanning")) if approve else None


def _send_again(job: Job, _offers: Offers, _user: object) -> JobOffer | None:
    rules = valid_rules()
    if not rules or not can_be_sent_again(job, rules):
        return None
    return JobOffer(send_again_title(job), reverse("admin:orchestrator_job_send_again", args=[job.pk]))


STEPS: dict[str, RowStep] = {
    "customers": _customers,
    "rules": _rules,
    "template": _template,
    "started": _started,
    "send_again": _send_again,
}


def holdings(job: Job) -> list[tuple[str, object]]:
    facts = blockers.lease_holdings(job)
    if job.status == JobState.OPTI_RUNNING:
        facts.append((_("Slot"), _("OptiPlanning (one job at a time)")))
    if job.open_deliveries and job.status == JobState.FAILED:
        facts.append((_("The saw may have"), ", ".join(map(str, job.open_deliveries))))
    if job.delivery_names and job.status in (JobState.XML_READY, JobState.DELIVERED, JobState.DONE):
        facts.append((_("Delivered to the saw as"), ", ".join(map(str, job.delivery_names))))
    return facts

"""What an operator does first about a held job: each reason has an action of its own."""

from dataclasses import replace
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import admin
from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction
from django.http import HttpRequest, QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from unfold.widgets import UnfoldAdminTextInputWidget, UnfoldBooleanWidget

from kilit.console.formatting import number
from kilit.console.jobs.job_page import JobOffer, Offers, first_at_once
from kilit.console.lists.actions import Action, ActionReport
from kilit.lock.audit import for_reason
from orchestrator.admin.rule_texts import action_text
from orchestrator.errors import Code, JobError
from orchestrator.models import Customer, Job
from orchestrator.models.job import JobQuerySet
from orchestrator.orders.order import order_from
from orchestrator.planning.excel.template import check_template
from orchestrator.planning.plan import missing_rules
from orchestrator.planning.rules import valid_rules
from orchestrator.schemas.orders import InvalidOrder, NewCustomer
from orchestrator.states import FAILING, JobState
from orchestrator.workflow.decisions import can_be_sent_again

REASON = "The customer was added."
MOST_CONTINUED = 500  # as many as an action on a selection
# An entry of the rules is missing.
RULE_CODES = (
    Code.PLATE_SIZE_MISSING,
    Code.BACKING_THICKNESS_UNKNOWN,
    Code.TRIM_RULE_MISSING,
    Code.EDGE_MAPPING_UNKNOWN,
    Code.INVALID_GRAIN,
)
FIRST = "first"  # the name of the offer that stands out


def format_phone(phone: str) -> str:
    """Return an E.164 number as people read it: +90 555 123 45 67."""
    import phonenumbers

    parsed = phonenumbers.parse(phone)
    return phonenumbers.format_number(parsed, phonenumbers.PhoneNumberFormat.INTERNATIONAL)


def held_jobs(phone: str) -> JobQuerySet:
    return Job.objects.filter(customer_phone=phone, status=JobState.HOLD, error_code=Code.CRM_NO_MATCH)


class HeldCustomerForm(forms.Form):
    name = forms.CharField(
        label=gettext_lazy("Customer's name"),
        max_length=200,
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
    )
    all_jobs = forms.BooleanField(required=False, initial=True, widget=UnfoldBooleanWidget())

    def __init__(self, job: Job, data: QueryDict | None = None) -> None:
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
        ids = held_jobs(self.job.customer_phone).order_by("pk").values_list("pk", flat=True)
        return list(dict.fromkeys([self.job.pk, *ids[: MOST_CONTINUED - 1]]))

    def save(self, request: HttpRequest, approve: Action, ids: list[UUID]) -> tuple[Customer, ActionReport]:
        """Add the customer and approve the jobs, both or neither; one that was added meanwhile stays as it is."""
        with transaction.atomic(), for_reason(REASON):
            customer, is_new = Customer.objects.get_or_create(
                phone=self.job.customer_phone, defaults={"name": self.cleaned_data["name"]}
            )
            if is_new:
                admin.site.get_model_admin(Customer).log_addition(request, customer, [{"added": {}}])
            return customer, approve.perform(request.user, ids, {})


def send_again_title(job: Job) -> str:
    return _("Send again as revision %(number)s") % {"number": job.revision + 1}


def with_first(job: Job, offers: Offers, user: User | AnonymousUser) -> Offers:
    if job.status not in FAILING or not offers:
        return offers or _send_again(job)
    if job.error_code == Code.HANDOVER_UNKNOWN:
        return {name: replace(offer, is_answer=True) for name, offer in offers.items()}
    if job.error_code in RULE_CODES and {"approve", "retry"} & offers.keys():
        return {**_rules(job), **offers}
    return _of_held(job, offers, user) if job.status == JobState.HOLD else offers


def _of_held(job: Job, offers: Offers, user: User | AnonymousUser) -> Offers:
    match job.error_code:
        case Code.CRM_NO_MATCH if user.has_perm("orchestrator.operate_customer"):
            return {**_customer(job), **offers}
        case Code.TEMPLATE_INVALID:
            return {**_template(), **offers}
        case Code.OPERATOR_TRIGGER_REQUIRED:
            return {**offers, "approve": replace(offers["approve"], title=_("I have started OptiPlanning"))}
    return offers


def choose_primary(job: Job, offers: Offers) -> JobOffer | None:
    return offers.get(FIRST) or first_at_once(job, offers)


def _customer(job: Job) -> Offers:
    if Customer.objects.filter(phone=job.customer_phone).exists():
        return {}
    title = _("Add %(phone)s as customer and continue") % {"phone": format_phone(job.customer_phone)}
    href = reverse("admin:orchestrator_job_add_customer", args=[job.pk])
    return {FIRST: JobOffer(title, href, form=HeldCustomerForm(job))}


def _rules(job: Job) -> Offers:
    """Lead to the rules while they lack something; afterwards the job can be approved or retried."""
    rules = valid_rules()
    if rules is None:
        return {FIRST: JobOffer(_("Open the rules"), rules_address(job))}
    missing = missing_rules(order_from(job.payload), rules)
    return {FIRST: JobOffer(action_text(missing), rules_address(job))} if missing else {}


def rules_address(job: Job) -> str:
    return f"{reverse('admin:orchestrator_rulesversion_changelist')}?job={job.pk}"


def preflight_address() -> str:
    return f"{reverse('admin:orchestrator_rulesversion_changelist')}#preflight"


def _send_again(job: Job) -> Offers:
    rules = valid_rules()
    if not rules or not can_be_sent_again(job, rules):
        return {}
    return {FIRST: JobOffer(send_again_title(job), reverse("admin:orchestrator_job_send_again", args=[job.pk]))}


def _template() -> Offers:
    """Lead to the preflight while this machine sees that the template is invalid."""
    if settings.FLOOR_IS_HERE:
        try:
            check_template(settings.OPTI_TEMPLATE)
        except JobError:
            return {FIRST: JobOffer(_("Check the template"), preflight_address())}
    return {}

"""What an operator does first about a held job: each reason has an action of its own."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.urls import reverse
from django.utils.translation import gettext as _

from kilit.console.jobs.job_page import JobOffer, first_at_once
from orchestrator.admin.new_customer import HeldCustomerForm, format_phone
from orchestrator.admin.rule_texts import action_text
from orchestrator.admin.send_again import send_again_offer
from orchestrator.errors import Code, JobError
from orchestrator.models import Customer, Job
from orchestrator.orders.order import order_from
from orchestrator.planning.excel.template import check_template
from orchestrator.planning.missing_rules import missing_rules
from orchestrator.planning.rules import current_rules
from orchestrator.states import FAILING, JobState
from orchestrator.workflow.decisions import can_be_sent_again

Offers = dict[str, JobOffer]
# An entry of the rules is missing.
RULE_CODES = (
    Code.PLATE_SIZE_MISSING,
    Code.BACKING_THICKNESS_UNKNOWN,
    Code.TRIM_RULE_MISSING,
    Code.EDGE_MAPPING_UNKNOWN,
    Code.INVALID_GRAIN,
)
FIRST = "first"  # the name of the offer that stands out


def with_first(job: Job, offers: Offers, user: User | AnonymousUser) -> Offers:
    """Return a job's offers, and the one that its error needs before all others."""
    if job.status not in FAILING or not offers:
        return offers or _send_again(job)
    if job.error_code == Code.HANDOVER_UNKNOWN:
        return {name: replace(offer, is_answer=True) for name, offer in offers.items()}
    if job.error_code in RULE_CODES and {"approve", "retry"} & offers.keys():
        return _rules(job) | offers
    return _of_held(job, offers, user) if job.status == JobState.HOLD else offers


def _of_held(job: Job, offers: Offers, user: User | AnonymousUser) -> Offers:
    match job.error_code:
        case Code.CRM_NO_MATCH if user.has_perm("orchestrator.operate_customer"):
            return _customer(job) | offers
        case Code.TEMPLATE_INVALID:
            return _template() | offers
        case Code.OPERATOR_TRIGGER_REQUIRED:
            return offers | {"approve": replace(offers["approve"], title=_("I have started OptiPlanning"))}
    return offers


def choose_primary(job: Job, offers: Mapping[str, JobOffer]) -> JobOffer | None:
    return offers.get(FIRST) or first_at_once(job, offers)


def _customer(job: Job) -> Offers:
    if is_customer_known(job):
        return {}
    title = _("Add %(phone)s as customer and continue") % {"phone": format_phone(job.customer_phone)}
    href = reverse("admin:orchestrator_job_add_customer", args=[job.pk])
    return {FIRST: JobOffer(title, "person_add", href, form=HeldCustomerForm(job))}


def _rules(job: Job) -> Offers:
    """Lead to the rules while they lack something; afterwards the job can be approved or retried."""
    try:
        missing = missing_rules(order_from(job.payload), current_rules())
    except JobError:  # there are no valid rules
        return {FIRST: JobOffer(_("Open the rules"), "rule", rules_address(job))}
    return {FIRST: JobOffer(action_text(missing), "rule", rules_address(job))} if missing else {}


def rules_address(job: Job) -> str:
    return f"{reverse('admin:orchestrator_rulesversion_changelist')}?job={job.pk}"


def _send_again(job: Job) -> Offers:
    try:
        rules = current_rules()
    except JobError:  # there are none to judge by
        return {}
    return {FIRST: send_again_offer(job)} if can_be_sent_again(job, rules) else {}


def _template() -> Offers:
    """Lead to the preflight while this machine sees that the template is invalid."""
    if settings.FLOOR_IS_HERE:
        try:
            check_template(settings.OPTI_TEMPLATE)
        except JobError:
            address = reverse("admin:orchestrator_job_preflight")
            return {FIRST: JobOffer(_("Check the template"), "fact_check", address)}
    return {}


def is_customer_known(job: Any) -> bool:
    return Customer.objects.filter(phone=job.customer_phone).exists()

"""What an operator does first about a held job: each reason has an action of its own."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.urls import reverse
from django.utils.translation import gettext as _

from kilit.console.job_page import JobOffer, first_at_once
from orchestrator.admin.new_customer import HeldCustomerForm, format_phone
from orchestrator.errors import Code
from orchestrator.models import Customer, Job
from orchestrator.states import JobState

Offers = dict[str, JobOffer]
FIRST = "first"  # the name of the offer that stands out


def with_first(job: Job, offers: Offers, user: User | AnonymousUser) -> Offers:
    """Return a job's offers, and the one that its error needs before all others."""
    if job.status != JobState.HOLD or "approve" not in offers:
        return offers
    match job.error_code:
        case Code.CRM_NO_MATCH if user.has_perm("orchestrator.operate_customer"):
            return _customer(job) | offers
        case Code.OPERATOR_TRIGGER_REQUIRED:
            return offers | {"approve": replace(offers["approve"], title=_("I have started OptiPlanning"))}
        case _:
            return offers


def choose_primary(job: Job, offers: Mapping[str, JobOffer]) -> JobOffer | None:
    return offers.get(FIRST) or first_at_once(job, offers)


def _customer(job: Job) -> Offers:
    if is_customer_known(job):
        return {}
    title = _("Add %(phone)s as customer and continue") % {"phone": format_phone(job.customer_phone)}
    href = reverse("admin:orchestrator_job_add_customer", args=[job.pk])
    return {FIRST: JobOffer(title, "person_add", href, form=HeldCustomerForm(job))}


def is_customer_known(job: Any) -> bool:
    return Customer.objects.filter(phone=job.customer_phone).exists()

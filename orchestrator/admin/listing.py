"""How the list of jobs is narrowed: exact searches, bounded filters."""

from contextlib import suppress
from uuid import UUID

from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from kilit.console.filters import AgeFilter, ChoiceFilter, DateFilter, GroupFilter, LeadingStateFilter
from orchestrator.errors import Code
from orchestrator.models.queryset import JobQuerySet
from orchestrator.orders.fields import InvalidField, phone
from orchestrator.states import Mode


class CodeFilter(ChoiceFilter):
    title, parameter_name, column = _("error"), "code", "error_code"
    leads = True
    offered = [(code.value, _(code.label)) for code in Code]


class ModeFilter(ChoiceFilter):
    """By how OptiPlanning is started."""

    title, parameter_name, column = _("mode"), "mode", "opti_mode"
    leads = True
    offered = list(Mode.choices)


FILTERS = [LeadingStateFilter, CodeFilter, ModeFilter, AgeFilter, DateFilter, GroupFilter]


def search(jobs: JobQuerySet, text: str) -> JobQuerySet:
    """Return jobs by id, order id or the customer's phone in any spelling."""
    text = text.strip()
    with suppress(ValueError):
        return jobs.filter(pk=UUID(text))
    by_phone = Q()
    with suppress(InvalidField):
        by_phone = Q(customer_phone=phone(text))
    return jobs.filter(Q(order_id=text) | by_phone)

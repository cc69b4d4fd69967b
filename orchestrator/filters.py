"""How the list of cutting jobs is narrowed; console, API and bulk workers read it here."""

from contextlib import suppress
from uuid import UUID

from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from kilit.bulk.filters import CREATED_BETWEEN, AgeFilter, ChoiceFilter, ErrorGroupFilter, FilterSet, state_filter
from orchestrator.errors import Code
from orchestrator.models.job import FAILURES
from orchestrator.models.queryset import JobQuerySet
from orchestrator.schemas.orders import phone
from orchestrator.states import JOBS, Mode


def search(jobs: JobQuerySet, text: str) -> JobQuerySet:
    """Return jobs by id, order id or the customer's phone in any spelling."""
    with suppress(ValueError):
        return jobs.filter(pk=UUID(text))
    by_phone = Q()
    with suppress(ValueError):
        by_phone = Q(customer_phone=phone(text))
    return jobs.filter(Q(order_id=text) | by_phone)


FILTERS = FilterSet(
    (
        state_filter(JOBS, index="job_in_state", leads=True),
        ChoiceFilter(
            name="code",
            title=_("error"),
            column="error_code",
            index="job_of_code",
            leads=True,
            choices=[(code.value, _(code.label)) for code in Code],
        ),
        ChoiceFilter(
            name="mode", title=_("mode"), column="opti_mode", index="job_of_mode", leads=True, choices=Mode.choices
        ),
        AgeFilter(),
        *CREATED_BETWEEN,
        ErrorGroupFilter(failures=FAILURES, index="job_of_error_group"),
    ),
    search=search,
)

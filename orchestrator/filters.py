"""How the list of cutting jobs is narrowed; console, API and bulk workers read it here."""

import re
from contextlib import suppress

from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from kilit.batches.filters import (
    CREATED_BETWEEN,
    AgeFilter,
    ChoiceFilter,
    ErrorGroupFilter,
    FilterSet,
    state_filter,
)
from kilit.batches.item_filter import BulkFilter
from kilit.batches.search import PrefixSearch, by
from kilit.lock.prefixes import begins_with
from orchestrator.errors import Code, WarningCode
from orchestrator.models import Customer
from orchestrator.models.job import FAILURES
from orchestrator.planning.rules import offered_modes, saw_names
from orchestrator.schemas.orders import phone
from orchestrator.states import CANCELLABLE, JOBS

PHONE = re.compile(r"\+?[0-9 ()./-]+")
NOT_A_DIGIT = re.compile(r"[^0-9]")
FEWEST_DIGITS = 3  # fewer are an order id
COUNTRY = "90"
MOST_CUSTOMERS = 100


def by_phone(text: str) -> Q | None:
    """Match the beginning of a phone number, written as people do: +90 555, 0555 or 555."""
    with suppress(ValueError):
        return begins_with("customer_phone", phone(text))
    digits = NOT_A_DIGIT.sub("", text)
    if not PHONE.fullmatch(text) or len(digits) < FEWEST_DIGITS:
        return None
    if text.startswith("+"):
        return begins_with("customer_phone", f"+{digits}")
    national = digits.removeprefix("00") if digits.startswith("00") else COUNTRY + digits.removeprefix("0")
    return begins_with("customer_phone", f"+{national}")


def by_customer(text: str) -> Q:
    # Two queries: with the customers' ids the planner knows how many jobs there are and uses their index.
    named = Customer.objects.filter(name__words=text).values_list("pk", flat=True)
    return Q(customer__in=list(named[:MOST_CUSTOMERS]))


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
            name="mode",
            title=_("mode"),
            column="opti_mode",
            index="job_of_mode",
            leads=True,
            choices=lambda _user: offered_modes(),
        ),
        ChoiceFilter(
            name="saw",
            title=_("saw"),
            column="saw",
            index="job_of_saw",
            leads=True,
            choices=lambda _user: [(name, name) for name in saw_names()],
        ),
        ChoiceFilter(
            name="warning",
            title=_("warning"),
            column="warning_code",
            index="job_of_warning",
            leads=True,
            where=Q(status__in=CANCELLABLE),
            choices=[(code.value, _(code.label)) for code in WarningCode],
        ),
        AgeFilter(),
        *CREATED_BETWEEN,
        ErrorGroupFilter(failures=FAILURES, index="job_of_error_group"),
        BulkFilter(),
    ),
    search=PrefixSearch((by("order_id"), by_phone, by("customer_snapshot_name"), by_customer)),
)

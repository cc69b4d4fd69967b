"""What can be done about errors: a hint for the callers of the API, and advice for error groups.

One row is enough to know about a group, because it has one code and one message.
"""

from collections.abc import Iterable, Mapping

from ociqueue.models import Conversion
from ociqueue.models.conversion import FAILURES
from ociqueue.models.uploadable import Uploadable
from ociqueue.states import (
    EXPECTED_ADJUSTMENT_FAILURES,
    EXPECTED_FAILURES,
    EXPIRED,
    UNEXPECTED_IN_VERDICTS,
    WITHHELD,
    Category,
    SyncMethod,
)
from ociqueue.uploader.datamanager.reasons import AT_ONCE, LATER
from ociqueue.uploader.googleads.errors import TABLE


def groups_of_wrong_data(names: Iterable[str], *, model: type[Uploadable] = Conversion) -> set[str]:
    """Return which error groups need other data: a retry would fail again."""
    categories = _one_of_each(names, "provider_error_category", model=model)
    return {name for name, category in categories if category == Category.VALIDATION}


def expected_groups(codes: Mapping[str, str]) -> set[str]:
    """Return which error groups leave nothing to do; `codes` are their codes by their names."""
    shared = [name for name, code in codes.items() if code in UNEXPECTED_IN_VERDICTS]
    in_verdicts = {
        name for name, sender in _one_of_each(shared, "site__sync_method") if sender == SyncMethod.DATA_MANAGER
    }
    return {name for name, code in codes.items() if code in EXPECTED_FAILURES} - in_verdicts


def expected_adjustment_groups(codes: Mapping[str, str]) -> set[str]:
    return {name for name, code in codes.items() if code in EXPECTED_ADJUSTMENT_FAILURES}


def _one_of_each(
    names: Iterable[str], column: str, *, model: type[Uploadable] = Conversion
) -> list[tuple[str, object]]:
    # By a range and in this order, so that only the index of the groups serves (kilit.batches.filters).
    rows = model._default_manager.filter(FAILURES.condition).order_by("error_group", "id")
    groups = (rows.filter(error_group__gte=name, error_group__lte=name) for name in names)
    queries = [group.values_list("error_group", column)[:1] for group in groups]
    return list(queries[0].union(*queries[1:], all=True)) if queries else []


REPLACED = "A corrected copy was sent in its place."
NOTHING_TO_DO = "Expected: there is nothing to do."
BY_CATEGORY: Mapping[str, str] = {
    Category.VALIDATION: "Correct the data, and send the conversion again with the same sourceKey.",
    Category.TRANSIENT: "A temporary fault. It is retried if the site is set so; otherwise an operator can retry it.",
    Category.AUTH: "Google rejected the account or its login. An operator of the site has to fix that and retry it.",
    Category.RATE_LIMIT: "Google asked for fewer requests. It is sent again later.",
    Category.PERMANENT: "It is not sent again unless an operator retries it.",
}
# If several tables have a name, the table of the Google Ads API counts.
BY_CODE: Mapping[str, str] = {
    code: meaning.hint
    for table in (LATER, AT_ONCE, TABLE["conversion_upload_error"])
    for code, meaning in table.items()
    if meaning.hint
} | {
    EXPIRED: "It waited until it was too old for Google. It cannot be sent any more.",
    WITHHELD: "The visitor denied consent, and the site does not send such conversions.",
}


def hint_for(row: Conversion) -> str:
    if row.is_replaced:
        return REPLACED
    code = row.provider_error_code
    is_expected = code in EXPECTED_FAILURES and code not in UNEXPECTED_IN_VERDICTS
    return BY_CODE.get(code) or (NOTHING_TO_DO if is_expected else BY_CATEGORY.get(row.provider_error_category, ""))

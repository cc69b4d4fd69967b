"""What can be done about the error of a conversion, for the callers of the API."""

from collections.abc import Mapping

from ociqueue.models import Conversion
from ociqueue.states import EXPECTED_FAILURES, EXPIRED, UNEXPECTED_IN_VERDICTS, WITHHELD, Category
from ociqueue.uploader.datamanager.later_reasons import LATER
from ociqueue.uploader.datamanager.reasons import AT_ONCE
from ociqueue.uploader.googleads.errors import TABLE

REPLACED = "A corrected copy was sent in its place."
NOTHING_TO_DO = "Expected: there is nothing to do."
BY_CATEGORY: Mapping[str, str] = {
    Category.VALIDATION: "Correct the data, and send the conversion again with the same sourceKey.",
    Category.TRANSIENT: "A temporary fault. It is retried if the site is set so; otherwise an operator can retry it.",
    Category.AUTH: "Google rejected the account or its login. An operator of the site has to fix that and retry it.",
    Category.RATE_LIMIT: "Google asked for fewer requests. It is sent again later.",
    Category.PERMANENT: "It is not sent again unless an operator retries it.",
}
# Of the same name in several tables, that of the Google Ads API counts.
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

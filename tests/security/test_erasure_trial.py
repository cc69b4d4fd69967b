"""The trial of erasure, without a server of its own: the test's database is searched column by column."""

import pytest

from tests.security.erasure_trial import CLICK_ID, EMAIL, PHONE, PHONES, fill, forget_person
from tests.support.all_columns import columns_with

pytestmark = pytest.mark.django_db
PERSON = (EMAIL, PHONE, CLICK_ID, *PHONES)
# Where other rows' reports, and answers about them, were quoted.
QUOTING = {"lock_event", "lock_errordelta", "offline_conversion_queue", "outbox_attempt", "ociqueue_adjustment"}


def test_a_person_whom_strangers_quoted_about_other_rows_is_forgotten_everywhere() -> None:
    fill()
    assert {name.split(".")[1] for name in columns_with(*PERSON)} >= QUOTING

    forget_person()

    assert columns_with(*PERSON) == []

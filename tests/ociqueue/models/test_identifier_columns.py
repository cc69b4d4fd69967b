"""What the database accepts as identifiers of a conversion."""

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models.functions import Now

from ociqueue.models import Conversion, ConversionKey
from tests.support.conversions import new_conversion

pytestmark = pytest.mark.django_db

HASH = "0123456789abcdef" * 4
NO_CLICK_ID = {"gclid": "", "wbraid": "", "gbraid": ""}


@pytest.mark.parametrize(
    "columns",
    [
        {"gclid": "Cj0"},
        {"gbraid": "0AA", "hashed_email": HASH},
        {**NO_CLICK_ID, "hashed_email": HASH},
        {**NO_CLICK_ID, "hashed_phone": HASH},
        {**NO_CLICK_ID, "hashed_email": HASH, "hashed_email_ads": HASH},
    ],
)
def test_a_row_is_stored_with(site, columns) -> None:
    new_conversion(site, **columns).save()

    assert Conversion.objects.count() == 1


@pytest.mark.parametrize(
    ("columns", "constraint"),
    [
        (NO_CLICK_ID, "conversion_has_one_click_id_or_hash"),
        ({"gclid": "Cj0", "wbraid": "0AA"}, "conversion_has_one_click_id_or_hash"),
        ({"gclid": "Cj0", "wbraid": "0AA", "hashed_email": HASH}, "conversion_has_one_click_id_or_hash"),
        ({"gclid": "Cj0", "wbraid": "0AA", "erased_at": Now()}, "conversion_has_one_click_id_or_hash"),
        ({"hashed_email": "jane@example.com"}, "conversion_hashes_are_hashes"),
        ({"hashed_email": HASH.upper()}, "conversion_hashes_are_hashes"),
        ({"hashed_email": HASH[1:] + "\n"}, "conversion_hashes_are_hashes"),
        ({"hashed_email": HASH, "hashed_email_ads": "jane@example.com"}, "conversion_hashes_are_hashes"),
        ({"hashed_email_ads": HASH}, "conversion_hashes_are_hashes"),
        ({"hashed_phone": "+905321234567"}, "conversion_hashes_are_hashes"),
    ],
)
def test_a_row_is_refused_with(site, columns, constraint) -> None:
    with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
        new_conversion(site, **columns).save()


def test_an_older_version_inserts_without_the_new_columns(site) -> None:
    row = new_conversion(site)
    row.save()
    columns = "action, gclid, wbraid, gbraid, conversion_time, value, currency, order_id, consent, attempt_count, "
    columns += (
        "attempts_forgiven, last_error, provider_error_code, provider_error_category, provider_request_id, status"
    )

    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO offline_conversion_queue (id, site_id, {columns}, error_group)"
            f" SELECT gen_random_uuid(), site_id, {columns}, '' FROM offline_conversion_queue"
        )

    assert Conversion.objects.filter(hashed_email="", hashed_email_ads="", hashed_phone="", erased_at=None).count() == 2


@pytest.mark.parametrize("column", ["hashed_email", "hashed_phone"])
def test_rows_of_a_hash_are_found_by_an_index(site, column) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")

    assert f"key_{column}" in ConversionKey.objects.filter(**{column: HASH}).explain()

"""The fast SQL paths lean on parts of Django and psycopg that are not documented."""

import django
import psycopg
import pytest

from kilit.lock import fast_sql
from tests.apps.parcels.models import Parcel

CHECKED = {"Django": (5, 2), "psycopg": (3, 3)}


def test_the_versions_are_those_the_fast_paths_were_checked_with() -> None:
    installed = {
        "Django": django.VERSION[:2],
        "psycopg": tuple(int(part) for part in psycopg.__version__.split(".")[:2]),
    }
    assert installed == CHECKED, "read again what the docstring of fast_sql lists, then change CHECKED"

    for name, (major, minor) in CHECKED.items():
        assert f"{name} {major}.{minor}" in (fast_sql.__doc__ or "")
    assert "Django {}.{}".format(*CHECKED["Django"]) in (fast_sql.__doc__ or "")


@pytest.mark.django_db
@pytest.mark.parametrize(("passed", "sorting"), [(0, "off"), (1, "off"), (2, "on")])
def test_a_claim_follows_its_index_unless_it_would_pass_many_rows(sql, passed: int, sorting: str) -> None:
    Parcel.objects.bulk_create(Parcel() for _ in range(passed))

    with fast_sql.IndexHint(Parcel.objects.order_by("created_at"), most=2).transaction():
        assert sql("SHOW enable_sort") == [(sorting,)]

    assert sql("SHOW enable_sort") == [("on",)]


@pytest.mark.django_db
def test_a_claim_of_no_rows_follows_its_index(sql) -> None:
    with fast_sql.IndexHint(Parcel.objects.none()).transaction():
        assert sql("SHOW enable_sort") == [("off",)]

"""`manage.py oci_forget`: what it says, and what it never says."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from ociqueue.models import Conversion, Erasure
from ociqueue.values.identifiers import hash_email
from tests.support.conversions import make_completed, new_conversion
from tests.support.erasure import EMAIL, GCLID

pytestmark = pytest.mark.django_db

HASHES = {"hashed_email": hash_email(EMAIL)[0]}


def run(*arguments: str) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command("oci_forget", *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_the_command_counts_first_and_says_what_it_left(site) -> None:
    make_completed(site, **HASHES, source_key="jane@example.com/7")
    new_conversion(site, **HASHES).save()

    counted, _warned = run("--email", EMAIL, "--dry-run")
    assert Conversion.objects.exclude(erased_at=None).count() == 0
    out, warned = run("--email", EMAIL, "--site", site.public_id)

    assert "Would erase 1 conversion." in counted
    assert f"{site}: erased 1, left 1.\nErased 1 conversion.\nLeft 1 as they are" in out
    assert "The source keys of 1 contain an @" in warned
    assert EMAIL not in out + warned + counted
    assert Erasure.objects.get().actor == "command:oci_forget"


def test_the_command_reads_the_value_from_standard_input(site, monkeypatch) -> None:
    monkeypatch.setattr("sys.stdin", StringIO(f"{GCLID}\n"))
    make_completed(site, gclid=GCLID)

    assert "Erased 1 conversion." in run("--click-id", "-")[0]


@pytest.mark.parametrize("arguments", [("--email", "jane at x"), ("--phone", "0532 123 45 67"), ("--order-id", " ")])
def test_the_command_refuses_what_is_no_identifier_without_repeating_it(arguments: tuple[str, str]) -> None:
    with pytest.raises(CommandError) as refused:
        run(*arguments)

    assert arguments[1].strip() not in str(refused.value) or not arguments[1].strip()


def test_a_number_of_no_country_is_looked_for_all_the_same(site) -> None:
    run("--phone", "+999 123 45 67", "--site", site.public_id)

    assert Erasure.objects.get().rows_erased == 0

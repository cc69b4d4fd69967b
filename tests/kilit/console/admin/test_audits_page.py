"""Owners read what the last audits found; nobody changes a record."""

from uuid import UUID

import pytest
from django.db.models.functions import Now

from kilit.audit.models import Audit
from kilit.audit.replay import Fault
from tests.support.dashboard import text_of
from tests.support.people import make_person

pytestmark = pytest.mark.django_db

LIST = "/admin/audit/audit/"
JOB = str(UUID(int=7))
BREACH = {"fault": Fault.OTHER_STATE, "queue": "parcel", "job": JOB, "event": 12, "details": "<b>WAITING</b>"}


def make_audit(**columns: object) -> Audit:
    return Audit.objects.create(first_event=0, last_event=9, moves=12_034_221, jobs=4_011_233, **columns)


def page_of(record: Audit) -> str:
    return f"{LIST}{record.pk}/change/"


def test_the_list_says_what_each_audit_read_and_what_it_found() -> None:
    make_audit(finished_at=Now(), is_full=True)
    make_audit(finished_at=Now(), breach_count=1, breaches=[BREACH])
    make_audit()
    owner = make_person("owner", role="owner")

    shown = text_of(owner, LIST)

    assert shown.count("12,034,221 4,011,233") == 3
    assert all(heading in shown for heading in ("Finished at", "Moves", "Jobs", "Breaches", "Whole log"))
    assert LIST in owner.get("/admin/").text, "the menu leads there"


def test_a_page_names_the_jobs_that_do_not_add_up() -> None:
    sound = make_audit(finished_at=Now())
    damaged = make_audit(finished_at=Now(), breach_count=1, breaches=[BREACH])
    owner = make_person("owner", role="owner")

    assert f"parcel {JOB}: the row is in another state than its last event says" in text_of(owner, page_of(damaged))
    assert "<b>WAITING</b>" not in owner.get(page_of(damaged)).text, "what a row holds is text"
    assert "nothing" in text_of(owner, page_of(sound))


@pytest.mark.parametrize("role", ["viewer", "operator", "admin"])
def test_an_audit_is_of_the_whole_installation_and_for_owners_alone(role) -> None:
    record = make_audit(finished_at=Now(), breach_count=1, breaches=[BREACH])
    person = make_person(role=role)

    assert [person.get(address).status_code for address in (LIST, page_of(record))] == [403, 403]
    assert LIST not in person.get("/admin/").text


def test_nobody_changes_or_deletes_a_record() -> None:
    record = make_audit(finished_at=Now(), breach_count=1, breaches=[BREACH])
    owner = make_person("owner", role="owner")

    answers = [
        owner.post(page_of(record), {"breach_count": "0"}),
        owner.post(f"{LIST}{record.pk}/delete/", {"post": "yes"}),
        owner.post(f"{LIST}add/", {"moves": "1"}),
    ]

    assert [answer.status_code for answer in answers] == [403, 403, 403]
    assert Audit.objects.get() == record

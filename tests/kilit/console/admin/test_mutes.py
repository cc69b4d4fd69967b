"""Problems are listed with their history, and their alerts can be muted from there and from the dashboard."""

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.db.models.functions import Now
from django.utils import timezone

from kilit.problems import tracking
from kilit.problems.models import ProblemRecord
from kilit.sites.models import Tenant
from tests.support.dashboard import make_conversions, make_site, text_of

pytestmark = pytest.mark.django_db

LIST = "/admin/problems/problemrecord/"


@pytest.fixture
def record(monkeypatch) -> ProblemRecord:
    """Two conversions have failed, and the record of it."""
    monkeypatch.setattr(tracking, "readers", [])
    make_conversions(make_site("Ege"), badly=2)
    tracking.track_problems()
    return ProblemRecord.objects.get(kind="failures")


def page_of(record: ProblemRecord) -> str:
    return f"{LIST}{record.pk}/change/"


def test_the_dashboard_leads_to_the_mute_and_shows_it(record, admin_client) -> None:
    assert LIST in admin_client.get("/admin/").content.decode()
    assert "Mute alerts ·" not in text_of(admin_client), "it would shout on every line"
    assert page_of(record) in admin_client.get(LIST).content.decode()
    assert "Mute alerts ·" in text_of(admin_client, LIST)

    answer = admin_client.post(page_of(record), {"reason": "maintenance", "hours": "4"})

    assert answer.status_code == 302
    record.refresh_from_db()
    assert record.muted_until - timezone.now() == pytest.approx(timedelta(hours=4), abs=timedelta(minutes=1))
    assert (record.mute_reason, record.muted_by) == ("maintenance", "admin:admin")
    assert LogEntry.objects.get().change_message == "Muted for 4 hours: maintenance"
    assert "Muted until" in text_of(admin_client)
    assert "maintenance" in text_of(admin_client, page_of(record))

    admin_client.post(page_of(record), {"unmute": "1"})
    record.refresh_from_db()
    assert record.muted_until is None


@pytest.mark.parametrize("given", [{"reason": "", "hours": "4"}, {"reason": "x", "hours": "5000"}, {"reason": "x"}])
def test_a_mute_needs_a_reason_and_an_end(record, admin_client, given: dict) -> None:
    assert admin_client.post(page_of(record), given).status_code == 200

    record.refresh_from_db()
    assert record.muted_until is None


def test_others_see_and_mute_only_records_of_their_own(record, make_person) -> None:
    operator, viewer = make_person("ayse"), make_person("can", role="viewer")
    assert operator.post(page_of(record), {"reason": "x", "hours": "4"}).status_code == 404
    assert "Mute alerts ·" not in text_of(operator, LIST)
    columns = {name: getattr(record, name) for name in ("key", "part", "kind", "severity", "texts")}
    own = ProblemRecord.objects.create(reader=User.objects.get(username="can"), **columns)

    assert viewer.get(page_of(own)).status_code == 200
    assert viewer.post(page_of(own), {"reason": "x", "hours": "4"}).status_code == 403
    assert viewer.post(page_of(own), {"unmute": "1"}).status_code == 403
    assert not ProblemRecord.objects.exclude(muted_until=None).exists()


@pytest.mark.parametrize("username", ["admin", "ayse"])
def test_the_page_shows_each_reader_their_lines_and_what_is_over(record, make_person, admin_client, username) -> None:
    person = make_person("ayse", sites=[Tenant.objects.get()])
    client = admin_client if username == "admin" else person
    tracking.readers.append(tracking.recent_visitors)
    tracking.track_problems()

    lines, history = text_of(client, LIST).split("Earlier problems")
    assert "2 conversions failed" in lines
    assert "2 conversions failed" not in history

    own = ProblemRecord.objects.seen_by(User.objects.get(username=username)).filter(kind="failures")
    own.update(opened_at=Now() - timedelta(minutes=30), since=Now() - timedelta(hours=5, minutes=5))
    own.move("close", closed_at=timezone.now())
    history = text_of(client, LIST).split("Earlier problems")[1]
    assert "2 conversions failed" in history
    assert "5 hours" in history.replace("\xa0", " ")


def test_a_problem_that_is_over_is_not_muted(record, admin_client) -> None:
    ProblemRecord.objects.filter(pk=record.pk).move("close", closed_at=timezone.now())
    assert "Mute the alerts" not in text_of(admin_client, page_of(record))
    answer = admin_client.post(page_of(record), {"reason": "x", "hours": "4"}, follow=True)
    assert "the problem is over" in answer.content.decode()

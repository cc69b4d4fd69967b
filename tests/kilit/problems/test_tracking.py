"""Records of problems open once, follow what is seen, and close when it is gone for good."""

from datetime import timedelta
from threading import Barrier

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.utils import translation

from kilit.lock.audit import acting_as
from kilit.lock.models import Event
from kilit.masking import mask_personal_data
from kilit.problems import registry, tracking
from kilit.problems.kinds import ProblemKind
from kilit.problems.models import CLOSE_AFTER, ProblemRecord
from kilit.problems.registry import Place, Problem, ProblemSource, Severity
from kilit.problems.states import ProblemState
from kilit.sites.models import Tenant
from tests.support.alerts import time_passes
from tests.support.dashboard import make_conversions, make_site
from tests.support.people import make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def problems(monkeypatch) -> list[Problem]:
    """What is wrong, for everyone: the test decides."""
    found: list[Problem] = []
    monkeypatch.setattr(registry, "sources", [ProblemSource(lambda _user: found)])
    monkeypatch.setattr(tracking, "readers", [])
    return found


def held(count: int = 1, **columns: object) -> Problem:
    title = translation.gettext("Dashboard")  # any text that has a translation
    columns = {"title": f"{title}: {count}", "name": "E_X", "count": count, **columns}
    return Problem(part="cutting_job", kind=ProblemKind.HOLD, severity=Severity.WARNING, **columns)


def states() -> list[str]:
    return list(ProblemRecord.objects.order_by("id").values_list("status", flat=True))


def test_a_problem_opens_once_and_is_updated_while_it_lasts(problems) -> None:
    problems.append(held(1))
    assert tracking.track_problems() == "Opened 1, closed 0."
    problems[:] = [held(7)]
    time_passes(timedelta(minutes=5))

    assert tracking.track_problems() == "Opened 0, closed 0."

    record = ProblemRecord.objects.get()
    assert (record.status, record.count, record.title) == (ProblemState.OPEN, 7, "Dashboard: 7")
    assert (record.part, record.kind, record.severity) == ("cutting_job", "hold", Severity.WARNING)
    assert record.lasted == pytest.approx(timedelta(minutes=5), abs=timedelta(minutes=1))


def test_a_problem_that_returns_within_ten_minutes_is_the_same_one(problems) -> None:
    problems.append(held())
    tracking.track_problems()
    problems.clear()
    time_passes(timedelta(minutes=9))
    tracking.track_problems()
    assert states() == ["OPEN"]

    problems.append(held())
    tracking.track_problems()
    time_passes(timedelta(minutes=9))
    tracking.track_problems()

    assert states() == ["OPEN"]


def test_a_problem_that_is_gone_for_ten_minutes_is_closed_and_lasted_until_it_was_last_seen(problems) -> None:
    problems.append(held())
    tracking.track_problems()
    ProblemRecord.objects.update(opened_at=Now() - timedelta(minutes=30))
    problems.clear()
    time_passes(timedelta(minutes=11))

    assert tracking.track_problems() == "Opened 0, closed 1."

    record = ProblemRecord.objects.get()
    assert record.closed_at - record.seen_at == pytest.approx(CLOSE_AFTER, abs=timedelta(minutes=2))
    assert record.lasted == pytest.approx(timedelta(minutes=30), abs=timedelta(minutes=1))
    moves = Event.objects.filter(queue="problem").order_by("id").values_list("from_state", "to_state")
    assert list(moves) == [("", "OPEN"), ("OPEN", "CLOSED")]


def test_a_problem_that_returns_later_is_a_new_one(problems) -> None:
    problems.append(held())
    tracking.track_problems()
    problems.clear()
    time_passes(timedelta(minutes=11))
    tracking.track_problems()
    problems.append(held())

    tracking.track_problems()

    assert states() == ["CLOSED", "OPEN"]


def test_problems_that_are_folded_into_one_line_stay_open(problems) -> None:
    problems[:] = [held(name="A"), held(name="B")]
    tracking.track_problems()
    time_passes(timedelta(minutes=11))
    problems[:] = [held(9, name="", stands_for=["cutting_job-hold-A"])]

    tracking.track_problems()

    found = dict(ProblemRecord.objects.values_list("key", "status"))
    assert found == {"cutting_job-hold-A": "OPEN", "cutting_job-hold-B": "CLOSED", "cutting_job-hold": "OPEN"}


def test_texts_are_stored_in_each_language(problems, monkeypatch) -> None:
    monkeypatch.setattr(registry, "sources", [ProblemSource(lambda _user: [held(1200, where=[Place("Ege", 1200)])])])

    tracking.track_problems()

    record = ProblemRecord.objects.get()
    assert record.text("title", "en") == "Dashboard: 1200"
    assert record.text("title", "tr") != record.text("title", "en")
    assert (record.text("where", "en"), record.text("where", "tr")) == (["Ege (1,200)"], ["Ege (1.200)"])


def looked_in(monkeypatch, find) -> list[str | None]:
    """Note in which languages problems are looked for."""
    languages: list[str | None] = []

    def source(_user: object) -> list[Problem]:
        languages.append(translation.get_language())
        return find()

    monkeypatch.setattr(registry, "sources", [ProblemSource(source)])
    monkeypatch.setattr(tracking, "readers", [])
    return languages


def test_a_change_is_stored_in_each_language(monkeypatch) -> None:
    counts = iter([1, 1, 7, 7])  # each round looks in two languages
    looked_in(monkeypatch, lambda: [held(next(counts))])
    tracking.track_problems()

    tracking.track_problems()

    record = ProblemRecord.objects.get()
    assert [record.text("title", language)[-3:] for language in ("en", "tr")] == [": 7", ": 7"]


def test_what_is_recorded_just_so_is_looked_for_in_one_language(monkeypatch, settings) -> None:
    languages = looked_in(monkeypatch, lambda: [held()])
    tracking.track_problems()
    assert sorted(languages) == ["en", "tr"]
    languages.clear()

    tracking.track_problems()

    assert languages == [settings.LANGUAGE_CODE]
    assert ProblemRecord.objects.get().texts.keys() == {"en", "tr"}


def test_a_language_that_is_missing_in_a_record_is_added(monkeypatch) -> None:
    looked_in(monkeypatch, lambda: [held()])
    tracking.track_problems()
    record = ProblemRecord.objects.get()
    ProblemRecord.objects.update(texts={"en": record.texts["en"]})  # it appeared between the looks, say

    tracking.track_problems()

    assert ProblemRecord.objects.get().texts == record.texts


def test_nothing_personal_is_stored(problems) -> None:
    cause = "No consent of ayse.yilmaz@example.com, +90 555 123 45 67."
    places = [Place("Ahmet Demir", 2, is_personal=True), Place("Ege", scope="7")]
    problems.append(held(cause=cause, where=places))
    problems.append(held(name="E_Y", cause="E_Y: Ahmet's door", is_cause_personal=True, where=places[:1]))

    tracking.track_problems()

    first, second = ProblemRecord.objects.order_by("key")
    assert first.text("cause") == mask_personal_data(cause)
    assert (first.text("where"), first.text("beyond"), first.scopes) == (["Ege"], 1, ["7"])
    assert (second.text("cause"), second.text("where"), second.text("beyond")) == ("", [], 0)
    assert "Ahmet" not in str([first.texts, second.texts])


def test_a_reader_who_does_not_see_everything_has_records_of_their_own(monkeypatch) -> None:
    ege, berlin = make_site("Ege"), make_site("Berlin")
    make_conversions(ege, badly=2)
    Tenant.objects.filter(pk=ege.pk).pause(reason="Audit")
    make_conversions(berlin, badly=3)
    ayse = make_user(sites=[ege])
    monkeypatch.setattr(tracking, "readers", [lambda: [ayse]])

    tracking.track_problems()

    (mine,) = ProblemRecord.objects.seen_by(ayse).filter(kind="failures")
    everything = ProblemRecord.objects.filter(reader=None)
    assert (mine.count, mine.scopes) == (2, [str(ege.pk)])
    assert "Berlin" not in str(list(ProblemRecord.objects.seen_by(ayse).values_list("texts", flat=True)))
    assert everything.get(kind="failures").count == 5
    assert everything.get(kind="paused").scopes == [str(ege.pk)]


def test_records_of_a_reader_who_gets_no_alerts_any_more_are_closed(problems, monkeypatch) -> None:
    ayse = make_user(role=None)
    monkeypatch.setattr(tracking, "readers", [lambda: [ayse]])
    problems.append(held())
    tracking.track_problems()
    monkeypatch.setattr(tracking, "readers", [])
    time_passes(timedelta(minutes=11))

    tracking.track_problems()

    assert list(ProblemRecord.objects.open().values_list("reader", flat=True)) == [None]


@pytest.mark.django_db(transaction=True)
def test_two_trackers_at_once_open_one_record(problems, in_threads, monkeypatch) -> None:
    """Both see no record before either writes one."""
    problems.append(held())
    look, both = tracking._columns, Barrier(2, timeout=60)

    def wait_for_the_other(*args):
        both.wait()
        return look(*args)

    monkeypatch.setattr(tracking, "_columns", wait_for_the_other)
    in_threads(lambda _number: tracking.track(None, {}), count=2)

    assert ProblemRecord.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_tracker_that_dies_leaves_the_records_as_they_were(problems, monkeypatch) -> None:
    problems.append(held())
    tracking.track_problems()
    problems[:] = [held(70), held(2, name="E_Y")]

    def die(_self: object) -> None:
        raise SystemExit

    monkeypatch.setattr("kilit.problems.models.ProblemRecordQuerySet.close_unseen", die)
    with pytest.raises(SystemExit):
        tracking.track_problems()
    connection.close()

    assert list(ProblemRecord.objects.values_list("count", flat=True)) == [1]


def test_muting_stores_who_why_and_until_when(problems) -> None:
    problems.append(held())
    tracking.track_problems()
    until = ProblemRecord.objects.get().opened_at + timedelta(hours=1)

    with acting_as("admin:ayse"):
        assert ProblemRecord.objects.mute(reason="maintenance", until=until) == 1
    record = ProblemRecord.objects.get()
    assert (record.muted_until, record.mute_reason, record.muted_by) == (until, "maintenance", "admin:ayse")

    assert ProblemRecord.objects.unmute() == 1
    assert ProblemRecord.objects.get().muted_until is None

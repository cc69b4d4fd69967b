"""The page of a piece that the QR code of its label opens: steps without a login, each once, none lost."""

import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.conf import settings as django_settings
from django.db import IntegrityError, connections, transaction
from django.db.models.functions import Now
from django.test import Client

from config.papers.content import PaperRequest, paper_request
from config.settings.logs import redact
from kilit.access.authentication import WRONG_GUESSES_PER_MINUTE
from kilit.lock.models import Event
from orchestrator.job_links import PIECE_LINK
from orchestrator.models import Job, PieceStep
from orchestrator.models.piece_step import WorkStep
from orchestrator.pieces import MOST_ROWS, find_piece, progress
from orchestrator.planning.rules import current_rules
from orchestrator.planning.rules_history import digest
from orchestrator.workflow.preflight import preflight
from tests.support.cutting_jobs import (
    ARKALIK,
    CUTTING_JOBS,
    GOVDE,
    LIST,
    failed,
    finished,
    give_to_people,
    make_job,
    page_of,
)
from tests.support.cutting_rules import PAGE, text_with

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("customer")]
DRILLED = {**GOVDE, "delik_kodu": "D-7", "desc1": "Yan dikme"}


@pytest.fixture
def job(rules_file) -> Job:
    """Return a planned job whose labels have pages."""
    rules_file.write_text(text_with(labelCode="page"))
    made = finished(make_job(parts=[DRILLED, ARKALIK]))
    assert PIECE_LINK.create(made)
    return made


def address(job: Job, part: int = 1, piece: int = 1) -> str:
    return f"/piece/{PIECE_LINK.token_of(job)}/{part}/{piece}"


def press(job: Job, step: str = "cut", part: int = 1, piece: int = 1, **body: Any) -> Any:
    return Client(enforce_csrf_checks=True).post(address(job, part, piece), body or {"step": step}, follow=True)


def recorded(job: Job) -> list[tuple[int, int, str]]:
    rows = job.piece_steps.filter(taken_back_at=None).order_by("part", "piece", "pk")
    return list(rows.values_list("part", "piece", "step"))


def test_the_page_shows_the_piece_and_nothing_of_the_customer(job) -> None:
    english, turkish = (Client().get(address(job, piece=2), headers={"accept-language": each}) for each in ("en", "tr"))

    for text in ("Order S-1001", "g1 · 2 / 2", "1205 × 400 mm", "MAT-01 · Beyaz · 18 mm", "D-7", "Yan dikme", "040"):
        assert text in english.text
    for step in ("Cut", "Edged", "Drilled", "Packed"):
        assert step in english.text
    assert "Paketlendi" in turkish.text
    for hidden in (job.customer_phone, "Ayşe", "price", str(job.pk), "TRY"):
        assert hidden not in english.text
    assert (english["Cache-Control"], english["Referrer-Policy"]) == ("private, no-store", "no-referrer")
    assert not english.cookies


def test_a_piece_has_the_steps_that_it_needs(job) -> None:
    backing = Client().get(address(job, part=2)).text

    assert 'value="cut"' in backing
    assert 'value="packed"' in backing
    assert "edged" not in backing, "a backing gets no band, whatever was ordered"
    assert "drilled" not in backing
    press(job, "drilled", part=2)
    assert recorded(job) == []


def test_pressing_twice_is_one_step_and_a_step_is_taken_back_once(job) -> None:
    press(job)
    shown = press(job)
    row = PieceStep.objects.get()
    assert f'value="{row.pk}"' in shown.text
    assert recorded(job) == [(1, 1, "cut")]

    press(job, take_back=row.pk)
    shown = press(job, take_back=row.pk)
    assert recorded(job) == []
    assert "taken back" in shown.text
    press(job)
    press(job, take_back=row.pk)  # of a page that was shown before

    assert recorded(job) == [(1, 1, "cut")]
    assert PieceStep.objects.count() == 2


@pytest.mark.parametrize("body", [{"step": "burnt"}, {"take_back": "x"}, {"take_back": "9" * 40}, {"take_back": "²"}])
def test_nonsense_records_nothing(job, body) -> None:
    assert press(job, **body).status_code == 200
    assert not PieceStep.objects.exists()


def test_a_step_of_another_piece_or_job_is_not_taken_back(job) -> None:
    other = finished(make_job(order_id="S-2"))
    PIECE_LINK.create(other)
    press(job)
    row = PieceStep.objects.get()

    press(job, piece=2, take_back=row.pk)
    press(other, take_back=row.pk)

    assert recorded(job) == [(1, 1, "cut")]


@pytest.mark.parametrize("state", list(CUTTING_JOBS.model.lifecycle.states))
def test_only_a_planned_job_takes_steps(state) -> None:
    job = CUTTING_JOBS.row_in(state, payload={"parts": [{**GOVDE, "length_cm": "1", "width_cm": "1"}]})
    PIECE_LINK.create(job)

    shown = press(job)

    is_planned = state in ("OPTI_DONE", "XML_READY", "DELIVERED", "DONE")
    assert PieceStep.objects.exists() == is_planned
    assert ("<button" in shown.text) == is_planned
    with pytest.raises(IntegrityError), transaction.atomic():
        PieceStep.objects.create(job=job, part=1, piece=3, step="cut")  # there are two


def test_a_page_says_why_it_takes_no_steps(job) -> None:
    new, cancelled, stopped = make_job(order_id="S-2"), failed("E_CANCELLED", order_id="S-3"), failed(order_id="S-4")
    for each in (new, cancelled, stopped):
        PIECE_LINK.create(each)

    assert "is not planned yet" in press(new).text
    assert "was cancelled: do not work" in press(cancelled).text
    assert "has stopped: ask" in press(stopped).text


def test_the_database_keeps_every_step(job) -> None:
    press(job)
    rows = PieceStep.objects.all()
    row = rows.get()

    for change in ({"step": "packed"}, {"piece": 2}, {"done_at": None}, {"taken_back_at": None}):
        with pytest.raises(IntegrityError), transaction.atomic():
            rows.update(**change)
    with pytest.raises(IntegrityError), transaction.atomic():
        rows.delete()
    with pytest.raises(IntegrityError), transaction.atomic():
        PieceStep.objects.create(job=job, part=1, piece=1, step="cut")
    press(job, take_back=row.pk)
    with pytest.raises(IntegrityError), transaction.atomic():
        rows.update(taken_back_at=None)


@pytest.mark.parametrize("place", ["1/3", "3/1", "0/1", "1/0", "70000/1", "5001/1", f"{'9' * 5000}/1"])
def test_a_piece_that_the_order_does_not_have_is_not_found(job, place) -> None:
    assert Client().get(f"/piece/{PIECE_LINK.token_of(job)}/{place}").status_code == 404


def test_a_link_of_labels_works_until_it_is_withdrawn_and_for_its_job_only(job) -> None:
    first = address(job)
    other = make_job(order_id="S-2")

    assert PIECE_LINK.token_of(other) == ""
    assert PIECE_LINK.withdraw(job)
    assert Client().get(first).status_code == 410
    assert Client().post(first, {"step": "cut"}).status_code == 410
    assert PIECE_LINK.create(job)

    assert Client().get(first).status_code == 410
    assert Client().get(address(job)).status_code == 200
    assert recorded(job) == []
    assert Client().delete(address(job)).status_code == 405


def test_guessed_links_of_labels_are_limited(job) -> None:
    wrong = f"/piece/{PIECE_LINK.token_of(job)}x/1/1"

    assert Client().get(wrong).status_code == 404
    assert "S-1001" not in Client().get(wrong).text
    for _ in range(WRONG_GUESSES_PER_MINUTE):
        Client().post(wrong, {"step": "cut"})

    assert Client().get(address(job)).status_code == 429
    assert redact(f"GET {address(job)} 200").startswith("GET /piece/***")


def test_nobody_fills_the_table_by_playing_with_the_buttons(job) -> None:
    piece = find_piece(job, 1, 1)
    assert piece
    for _ in range(MOST_ROWS + 5):
        piece.record(WorkStep.CUT)
        piece.rows().filter(taken_back_at=None).update(taken_back_at=Now())

    assert PieceStep.objects.count() == MOST_ROWS


def test_times_are_those_of_the_shop_and_name_its_zone(job, settings) -> None:
    settings.SHOP_TIME_ZONE = "Asia/Tokyo"
    press(job)
    done = PieceStep.objects.get().done_at.astimezone(ZoneInfo("Asia/Tokyo"))

    page = Client().get(address(job), headers={"accept-language": "en"}).text

    assert f"{done:%Y-%m-%d %H:%M}" in page
    assert "Times are those of Asia/Tokyo." in page
    assert "Times are" not in Client().get(address(job, part=2)).text


@pytest.mark.parametrize(
    ("public", "reaches"),
    [
        ("http://127.0.0.1:8000", False),
        ("http://localhost", False),
        ("http://[::1]:8000", False),
        ("http://192.168.1.7:8000", True),
        ("https://kilit.example", True),
    ],
)
@pytest.mark.usefixtures("floor")
def test_labels_that_no_phone_can_open_are_said_before_they_are_printed(
    rules_file, settings, make_person, public, reaches
) -> None:
    settings.PUBLIC_URL = public
    owner, waiting = make_person(role="owner"), make_job()
    text, content = "which only this machine opens", text_with(labelCode="page")
    sent = {"content": content, "based_on": digest(rules_file.read_bytes()), "reason": "phones", "save": "1"}

    saved = owner.post(PAGE, sent, follow=True).text
    setup = [check.message for check in preflight() if text in check.message]
    printed = [str(offer.title) for offer in page_of(owner, waiting).context["papers"]]

    assert (saved.count(text) > 1, bool(setup)) == (not reaches, not reaches)
    assert any(text in title for title in printed) != reaches
    rules_file.write_text(text_with())
    assert text not in page_of(owner, waiting).text


def test_printed_labels_hold_the_pages_and_make_their_link_once(rules_file, customer) -> None:
    job = make_job()
    plain = paper_request(job, "labels", PaperRequest()).variables
    assert "code" not in plain["labels"][0]
    assert job.piece_link == 0
    rules_file.write_text(text_with(labelCode="page"))

    printed, again = (paper_request(job, "labels", PaperRequest()).variables for _ in range(2))

    base = f"{django_settings.PUBLIC_URL}/piece/{PIECE_LINK.token_of(job)}"
    assert [label.pop("code") for label in printed["labels"]] == [f"{base}/1/1", f"{base}/1/2", f"{base}/2/1"]
    assert printed == plain
    assert again["labels"][0]["code"] == f"{base}/1/1"
    assert Event.objects.of(job).filter(event_type="PIECE_LINK_CREATED").count() == 1


def test_the_jobs_page_shows_what_is_missing(job, make_person) -> None:
    press(job)
    press(job, "packed", part=2)
    operator = make_person()

    page = page_of(operator, job).text

    assert "Cut 1 of 3 · Edged 0 of 2 · Drilled 0 of 2 · Packed 1 of 3" in page
    assert "Cut: 2 pieces are missing" in page
    assert "<li>g1: 2 / 2</li>" in page
    assert "What was done to the pieces" not in page_of(operator, make_job(order_id="S-2")).text


def test_an_operator_withdraws_the_link_of_the_labels(job, make_person) -> None:
    operator, page = make_person(), f"{LIST}{job.pk}/piece-link/"
    assert "Link on the labels" in page_of(operator, job).text

    operator.post(page, {"number": "1"}, follow=True)

    job.refresh_from_db()
    assert job.piece_link == -1
    assert "Print the labels again" in page_of(operator, job).text
    assert make_person("veli", role="viewer").get(page).status_code == 403


def test_of_eight_phones_that_press_at_once_one_records_the_step(transactional_db, job, in_threads) -> None:
    answers = in_threads(lambda _: Client().post(address(job), {"step": "cut"}).status_code, count=8)
    row = PieceStep.objects.get()
    in_threads(lambda _: Client().post(address(job), {"take_back": row.pk}), count=8)

    assert answers == [302] * 8
    assert PieceStep.objects.get().taken_back_at
    assert recorded(job) == []


def test_a_press_waits_for_a_cancelling_and_is_refused(transactional_db, rules_file) -> None:
    job = CUTTING_JOBS.row_in("XML_READY", payload={"parts": [{**GOVDE, "length_cm": "1", "width_cm": "1"}]})
    give_to_people(job)
    PIECE_LINK.create(job)

    def phone() -> None:
        Client().post(address(job), {"step": "cut"})
        connections.close_all()

    with ThreadPoolExecutor(1) as phones:
        with transaction.atomic():
            assert Job.objects.filter(pk=job.pk).cancel(message="no")
            pressed = phones.submit(phone)
            with pytest.raises(TimeoutError):
                pressed.result(timeout=0.5)
        pressed.result(timeout=20)

    assert not PieceStep.objects.exists()


def test_pieces_that_are_missing_by_the_hundred_thousand_are_counted_and_not_listed(customer, rules_file) -> None:
    job = make_job(parts=[{**GOVDE, "id": f"p{number}", "quantity": 9_999} for number in range(50)])

    tracemalloc.start()
    cut, *_others = progress(job, current_rules())
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert (cut.total, cut.missing_count) == (50 * 9_999, 50 * 9_999)
    assert peak < 5_000_000, "a number takes eight bytes in a list at least"

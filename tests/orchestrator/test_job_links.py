"""The customer's link to one order: plain words without a login, until it is withdrawn."""

import logging
import re
from datetime import date

import pytest
from django.core.signing import Signer
from django.test import Client

from config.settings.logs import redact
from kilit.access.authentication import WRONG_GUESSES_PER_MINUTE
from kilit.lock.models import Activity, Event
from orchestrator.job_links import PIECE_LINK, STATUS_LINK
from orchestrator.models import Job
from tests.support.cutting_jobs import CUTTING_JOBS, LIST, error, failed, held, make_job, page_of
from tests.support.cutting_rules import PRICES, text_with

pytestmark = pytest.mark.django_db


def opened(job: Job, language: str = "en", token: str = ""):
    job.refresh_from_db()
    return Client().get(f"/order-status/{token or STATUS_LINK.token_of(job)}", headers={"accept-language": language})


def linked(job: Job) -> Job:
    assert STATUS_LINK.create(job)
    return job


def test_the_customer_reads_how_far_the_order_is_in_the_language_of_the_browser() -> None:
    job = linked(make_job(due_on="2026-11-30"))

    english, turkish = opened(job), opened(job, "tr-TR,tr;q=0.9,en;q=0.5")

    assert (english.status_code, turkish.status_code) == (200, 200)
    for text in ("Order S-1001", "We have received your order", "2026-11-30"):
        assert text in english.text
    assert '<html lang="en"' in english.text
    assert '<html lang="tr"' in turkish.text
    assert "Siparişinizi aldık" in turkish.text
    assert english["Cache-Control"] == "private, no-store"
    assert (english["Referrer-Policy"], english["X-Robots-Tag"]) == ("no-referrer", "noindex, nofollow, noarchive")
    assert not english.cookies


@pytest.mark.parametrize("state", list(CUTTING_JOBS.model.lifecycle.states))
def test_every_state_has_plain_words_and_nothing_else_is_told(state) -> None:
    job = linked(CUTTING_JOBS.row_in(state))

    shown = opened(job)

    assert shown.status_code == 200
    for hidden in (state, job.customer_phone, "MAT-01", job.error_code or "E_", "OptiPlanning"):
        assert hidden not in shown.text


def test_a_cancelled_order_says_so() -> None:
    assert "Your order was cancelled." in opened(linked(failed("E_CANCELLED"))).text
    assert "Please ask us about your order." in opened(linked(failed(order_id="S-2"))).text
    assert "are preparing it" in opened(linked(held(order_id="S-3"))).text


def test_a_withdrawn_link_stays_dead_and_the_next_is_another() -> None:
    job = linked(make_job())
    first = STATUS_LINK.token_of(job)

    assert STATUS_LINK.withdraw(job)
    assert not STATUS_LINK.withdraw(job)
    assert opened(job, token=first).status_code == 410
    assert "This link no longer works." in opened(job, token=first).text
    assert STATUS_LINK.create(job)

    assert STATUS_LINK.token_of(job) != first
    assert opened(job, token=first).status_code == 410
    assert opened(job).status_code == 200
    events = [event.event_type for event in Event.objects.of(job).order_by("pk")]
    assert events[1:] == ["STATUS_LINK_CREATED", "STATUS_LINK_WITHDRAWN", "STATUS_LINK_CREATED"]
    assert Activity.objects.filter(verb="STATUS_LINK_CREATED").count() == 2


def test_a_changed_or_foreign_token_is_unknown_and_guesses_are_limited() -> None:
    job = linked(make_job())
    token = STATUS_LINK.token_of(job)
    assert PIECE_LINK.create(job)
    foreign = Signer(salt="pdfjobs.links", sep=".").sign(token.rpartition(".")[0])
    forged = [f"{token}x", f"x{token}", "1.2", foreign, PIECE_LINK.token_of(job)]

    assert [opened(job, token=each).status_code for each in forged] == [404] * 5
    for _ in range(WRONG_GUESSES_PER_MINUTE):
        opened(job, token="wrong.token")

    assert opened(job).status_code == 429


def test_a_link_is_for_its_job_only() -> None:
    first, second = linked(make_job()), make_job(order_id="S-2")

    assert STATUS_LINK.token_of(second) == ""
    assert "S-2" not in opened(first).text
    assert Client().post(f"/order-status/{STATUS_LINK.token_of(first)}").status_code == 405


def test_an_operator_makes_and_withdraws_the_link(make_person, settings) -> None:
    operator, job = make_person(), make_job()
    page = f"{LIST}{job.pk}/status-link/"
    assert "Link for the customer" not in page_of(operator, job).text, "off where customers cannot reach the server"
    settings.PUBLIC_URL = "https://kilit.example"
    assert "Link for the customer" in page_of(operator, job).text

    made = operator.post(page, {"number": "0"}, follow=True)
    again = operator.post(page, {"number": "0"}, follow=True)  # a click sent twice

    job.refresh_from_db()
    assert job.status_link == 1
    assert f"https://kilit.example/order-status/{STATUS_LINK.token_of(job)}" in again.text
    assert "Withdraw the link" in made.text
    assert "Link for the customer made by" in page_of(operator, job).text
    assert "The link no longer works." in operator.post(page, {"number": "1"}, follow=True).text
    assert opened(job, token="x.y").status_code == 404
    assert make_person("veli", role="viewer").get(page).status_code == 403


def test_the_amounts_are_shown_only_if_the_shop_allowed_it(rules_file, customer) -> None:
    rules_file.write_text(text_with(prices=PRICES))
    without, allowed = linked(make_job()), make_job(order_id="S-2")
    assert STATUS_LINK.create(allowed, status_link_prices=True)

    assert "TRY" not in opened(without).text
    assert "Estimate with VAT" in opened(allowed).text
    assert "TRY" in opened(allowed).text
    rules_file.write_text(text_with())

    assert "TRY" not in opened(allowed).text
    assert opened(allowed).status_code == 200


def test_an_operator_chooses_whether_the_page_has_the_amounts(make_person, settings, rules_file) -> None:
    settings.PUBLIC_URL = "https://kilit.example"
    operator, job = make_person(), make_job()
    page = f"{LIST}{job.pk}/status-link/"
    assert "With the amounts" not in operator.get(page).text
    rules_file.write_text(text_with(prices=PRICES))
    assert "With the amounts" in operator.get(page).text

    made = operator.post(page, {"number": "0", "prices": "on"}, follow=True).text
    operator.post(page, {"number": "1"})
    again = operator.post(page, {"number": "-1"}, follow=True).text

    job.refresh_from_db()
    assert "and what it costs: nothing else." in made
    assert "no prices, nothing else." in again
    assert (job.status_link, job.status_link_prices) == (2, False)


def test_the_link_is_made_and_withdrawn_over_rest(make_api, settings) -> None:
    api, job = make_api(), make_job()
    address = f"jobs/{job.pk}/status-link"
    assert error(api.post(address))["code"] == "NO_PUBLIC_ADDRESS"
    settings.PUBLIC_URL = "https://kilit.example"

    made, again = api.post(address, {"prices": True}), api.post(address)

    job.refresh_from_db()
    url = f"https://kilit.example/order-status/{STATUS_LINK.token_of(job)}"
    assert (made.status_code, again.status_code) == (201, 200)
    assert made.json() == again.json() == {"url": url, "prices": True}
    assert [api("DELETE", address).status_code for _ in range(2)] == [204, 204]
    assert opened(job, token=url.rpartition("/")[2]).status_code == 410
    assert api.post(address, {"prices": "yes"}).status_code == 400
    viewer = make_api("viewer")
    assert [viewer(method, address, {}).status_code for method in ("POST", "DELETE")] == [403, 403]


def test_the_token_of_a_status_link_is_not_logged(caplog) -> None:
    job = linked(make_job(due_on=date(2026, 11, 30)))

    with caplog.at_level(logging.INFO):
        opened(job)

    assert redact(f"GET /order-status/{STATUS_LINK.token_of(job)} 200").startswith("GET /order-status/***")
    logged = " ".join(redact(str(record.__dict__)) for record in caplog.records)
    assert not re.search(re.escape(STATUS_LINK.token_of(job)), logged)

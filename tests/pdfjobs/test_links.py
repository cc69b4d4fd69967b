"""Links: one document without a key, until their end, and never longer than its file."""

import json
import logging
import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db.models.functions import Now
from django.test import Client
from django.utils import timezone

from config.settings.logs import ContextFilter, JsonFormatter
from kilit.access import authentication
from kilit.access.lockout import forget_attempts
from kilit.access.models import DeniedRequest, RateWindow
from kilit.lock.models import Event
from pdfjobs import cleanup, links
from pdfjobs.models import PdfJob
from pdfjobs.storage import artifacts
from tests.support.pdf_jobs import PDF, PdfApi, bring, new_job, some_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def job(api) -> PdfJob:
    return bring(new_job(api.user), "succeeded")


@pytest.fixture
def url(api, job) -> str:
    return str(api.link(job.pk).json()["url"])


def opened(url: str, **headers: str) -> Any:
    """Open a link as a stranger does, and read what comes."""
    answer: Any = Client().get(url.removeprefix("http://testserver"), headers=headers)
    answer.pdf = b"".join(answer.streaming_content) if answer.streaming else b""
    return answer


def shift(job: PdfJob, age: timedelta) -> None:
    """Let a job have finished earlier."""
    PdfJob.objects.filter(pk=job.pk).update(started_at=Now() - age, finished_at=Now() - age)


def test_a_link_needs_no_key_and_serves_the_file_as_a_download_does(api, job) -> None:
    created = api.link(job.pk, expiresIn=600)

    assert created.status_code == 201
    answer, download = opened(created.json()["url"]), api.download(job.pk)
    assert answer.pdf == b"".join(download.streaming_content) == PDF
    for name in ("ETag", "Content-Length", "Content-Type", "Content-Disposition", "Accept-Ranges"):
        assert answer.headers[name] == download.headers[name]
    assert answer.headers["Content-Disposition"].startswith("attachment")


def test_parts_and_current_copies_of_a_link(job, url) -> None:
    part = opened(url, range="bytes=5-9")
    beyond = opened(url, range=f"bytes={len(PDF)}-")
    current = opened(url, **{"if-none-match": f'"{job.artifact_digest}"'})
    head = Client().head(url.removeprefix("http://testserver"))

    assert (part.status_code, part.pdf) == (206, PDF[5:10])
    assert (beyond.status_code, beyond.json()["error"]["code"]) == (416, "RANGE_NOT_SATISFIABLE")
    assert current.status_code == 304
    assert (head.status_code, head.headers["Content-Length"]) == (200, str(len(PDF)))


@pytest.mark.parametrize("path", ["", "x"])
def test_a_link_stays_out_of_caches_search_engines_and_referrers(url, path: str) -> None:
    answer = opened(url + path)

    assert answer.status_code == (404 if path else 200)
    assert answer.headers["Cache-Control"] == "private, no-store"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert "noindex" in answer.headers["X-Robots-Tag"]


def test_a_link_lives_as_long_as_was_asked(api, job) -> None:
    given = {life: api.link(job.pk, expiresIn=life).json()["expires_at"] for life in (60, 7200)}
    given[3600] = api.link(job.pk).json()["expires_at"]  # the default

    for life, end in given.items():
        left = datetime.fromisoformat(end) - timezone.now()
        assert timedelta(seconds=life - 30) < left <= timedelta(seconds=life)


def test_a_link_never_outlives_the_file(api, job, settings) -> None:
    shift(job, settings.PDF_TTL - timedelta(minutes=5))

    end = datetime.fromisoformat(api.link(job.pk, expiresIn=604_800).json()["expires_at"])

    job.refresh_from_db()
    assert job.finished_at
    assert end == (job.finished_at + settings.PDF_TTL).replace(microsecond=0)


def test_a_file_whose_time_is_over_gets_no_link_even_before_the_cleanup(api, job, settings) -> None:
    shift(job, settings.PDF_TTL)

    answer = api.link(job.pk)

    assert (answer.status_code, answer.json()["error"]["code"]) == (410, "EXPIRED")


def test_a_link_works_until_its_end_and_not_after(api, job, monkeypatch) -> None:
    url = api.link(job.pk, expiresIn=600).json()["url"]

    def code_after(seconds: int) -> int:
        monkeypatch.setattr(links, "Now", lambda: Now() + timedelta(seconds=seconds))
        return int(opened(url).status_code)

    assert [code_after(seconds) for seconds in (0, 540, 600, 10**6)] == [200, 200, 410, 410]
    assert opened(url).json()["error"]["code"] == "LINK_EXPIRED"


@pytest.mark.parametrize(
    ("language", "sentence"),
    [("en", "Ask its sender for a new one."), ("tr-TR,tr;q=0.9,en;q=0.8", "Göndereninden yenisini isteyin.")],
)
def test_people_read_in_their_language_that_a_link_has_expired(api, job, url, language, sentence) -> None:
    cleanup.expire(PdfJob.objects.filter(pk=job.pk))

    answer = opened(url, accept="text/html,application/xhtml+xml,*/*;q=0.8", accept_language=language)

    assert (answer.status_code, answer.headers["Content-Type"]) == (410, "text/html; charset=utf-8")
    assert sentence in answer.text
    assert "/admin/" not in answer.text
    assert answer.headers["Cache-Control"] == "private, no-store"


def test_the_file_of_another_job_is_not_reached(api, job, url) -> None:
    other = bring(new_job(api.user, 2), "succeeded", pdf=b"%PDF-other")

    assert opened(url).pdf == PDF
    assert opened(api.link(other.pk).json()["url"]).pdf == b"%PDF-other"


@pytest.mark.parametrize("end", ["expired", "deleted", "lost"])
def test_a_link_dies_with_its_file(api, job, url, end: str) -> None:
    if end == "lost":
        artifacts.delete(job.artifact_key)
    elif end == "deleted":
        assert api.delete(job.pk).status_code == 200
    else:
        cleanup.expire(PdfJob.objects.filter(pk=job.pk))

    answers = [opened(url), opened(url)]

    assert [answer.status_code for answer in answers] == [410, 410]
    assert answers[1].json()["error"]["code"] == "LINK_EXPIRED"


def test_a_link_is_for_the_file_it_was_made_for(api, job, url) -> None:
    again = artifacts.save(artifacts.new_key(job.pk, timezone.now()), PDF)
    PdfJob.objects.filter(pk=job.pk).update(artifact_key=again.artifact_key)

    assert opened(url).status_code == 410
    assert b"".join(api.download(job.pk).streaming_content) == PDF


def test_a_changed_token_is_unknown(url) -> None:
    token = url.rpartition("/")[2]
    values, _, signature = token.partition(".")
    other = "A" if token[0] != "A" else "B"

    for wrong in (
        other + token[1:],
        token[:-1] + ("A" if token[-1] != "A" else "B"),
        values,
        f"{values}.",
        f".{signature}",
        "x",
        "ş" * 40,
        token + "%20",
    ):
        answer = opened(f"/pdf/links/{wrong}")
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NOT_FOUND"), wrong


def test_tokens_of_other_purposes_and_keys_are_unknown(url, settings) -> None:
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another one"
    assert opened(url).status_code == 200

    settings.SECRET_KEY_FALLBACKS = []
    assert opened(url).status_code == 404


def test_wrong_guesses_lock_out_their_address_only(url, monkeypatch) -> None:
    monkeypatch.setattr(authentication, "WRONG_GUESSES_PER_MINUTE", 3)
    elsewhere = Client(REMOTE_ADDR="203.0.113.9")

    guesses = [opened("/pdf/links/x") for _ in range(4)]

    assert [answer.status_code for answer in guesses] == [404, 404, 404, 429]
    assert int(guesses[3].headers["Retry-After"]) > 0
    # Guessing would be worth it if a right guess were still answered.
    assert opened(url).status_code == 429
    assert elsewhere.head(url.removeprefix("http://testserver")).status_code == 200
    RateWindow.objects.update(minute=Now() - timedelta(minutes=1))
    assert opened(url).status_code == 200


def test_right_and_ended_links_are_no_guesses(api, job, url) -> None:
    opened(url)
    api.delete(job.pk)
    opened(url)

    assert not RateWindow.objects.filter(name__startswith="guess:").exists()


def test_an_ipv6_network_is_one_guesser_and_old_counts_are_deleted(url) -> None:
    for address in ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", "::ffff:203.0.113.9"):
        Client(REMOTE_ADDR=address).get("/pdf/links/x")

    windows = RateWindow.objects.filter(name__startswith="guess:")
    assert dict(windows.values_list("name", "hits")) == {"guess:2001:db8:1:2::/64": 2, "guess:203.0.113.9": 1}
    windows.update(minute=Now() - timedelta(hours=2))
    forget_attempts()
    assert not windows.exists()


@pytest.mark.parametrize(
    ("status", "answer", "code"),
    [
        ("queued", 409, "NOT_FINISHED"),
        ("running", 409, "NOT_FINISHED"),
        ("failed", 409, "TEMPLATE_ERROR"),
        ("expired", 410, "EXPIRED"),
    ],
)
def test_a_job_without_a_file_has_no_link(api, status: str, answer: int, code: str) -> None:
    job = bring(new_job(api.user), status)

    given = api.link(job.pk)

    error = given.json()["error"]
    assert (given.status_code, error["code"], error.get("state", status)) == (answer, code, status)


def test_a_lost_file_gets_no_link(api, job) -> None:
    artifacts.delete(job.artifact_key)

    assert api.link(job.pk).status_code == 410
    assert api.get(job.pk).json()["status"] == "expired"


@pytest.mark.parametrize("life", [0, -1, 604_801, "60", 1.5, True, None])
def test_a_life_that_is_none_is_refused(api, job, life: Any) -> None:
    answer = api.link(job.pk, expiresIn=life)

    assert (answer.status_code, answer.json()["error"]["fields"][0]["field"]) == (400, "expiresIn")


def test_a_link_is_made_without_a_body(api, job) -> None:
    assert api.client.generic("POST", f"/pdf/jobs/{job.pk}/link", headers=api.headers).status_code == 201


def test_only_the_owner_with_the_operator_role_makes_links(api, job) -> None:
    viewer = PdfApi(some_user("viewer", role="viewer"))
    own = bring(new_job(viewer.user), "succeeded")

    assert PdfApi(some_user("other")).link(job.pk).status_code == 404
    assert viewer.link(own.pk).status_code == 403
    assert Client().post(f"/pdf/jobs/{job.pk}/link").status_code == 401


def test_who_made_a_link_is_recorded_without_the_link(job, url) -> None:
    event = Event.objects.of(job).last()

    assert event
    assert (event.event_type, event.actor, event.from_state) == ("LINK_CREATED", "key:shop", "succeeded")
    assert set(event.details) == {"expires_at"}
    assert url.rpartition("/")[2] not in str(event.__dict__)


def test_a_link_takes_no_other_methods_and_is_not_recorded_as_denied(url, make_person) -> None:
    operator = make_person()

    for method in ("POST", "PUT", "DELETE"):
        assert operator.generic(method, url.removeprefix("http://testserver")).status_code == 405
    assert not DeniedRequest.objects.exists()


def test_a_token_never_reaches_the_log(url, caplog) -> None:
    token = url.rpartition("/")[2]
    with caplog.at_level(logging.INFO):
        for path in (url, url + "x", url.replace("/links/", "/links/%20%22")):
            opened(path)

    lines = [written(record) for record in caplog.records]
    logged = [line["path"] for line in lines if line["logger"] == "kilit.request"]
    assert logged == ["/pdf/links/***"] * 3
    assert not re.search(re.escape(token[:20]), str(lines))


def written(record: logging.LogRecord) -> Any:
    ContextFilter().filter(record)
    return json.loads(JsonFormatter().format(record))

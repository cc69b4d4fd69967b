"""A job's timeline in sentences."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from kilit.console.jobs.timeline import Story
from kilit.lock.models import Event
from ociqueue.admin.rows.description import STORY
from ociqueue.models.conversion import FAILURES

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


def event(
    source: str, target: str, *, after: timedelta = timedelta(), actor: str = "key:site", **details: Any
) -> Event:
    kind = "STATE_" + target if source else "JOB_CREATED"
    return Event(
        event_type=kind,
        from_state=source,
        to_state=target,
        actor=actor,
        message="",
        created_at=NOON + after,
        details=details,
    )


def test_the_newest_comes_first_with_who_which_attempt_and_how_much_later() -> None:
    events = [
        event("", "QUEUED", actor="operator:ayse"),
        event("QUEUED", "PROCESSING", after=timedelta(minutes=4), verb="claim", attempt_count=2),
        event(
            "PROCESSING",
            "FAILED",
            after=timedelta(minutes=4, seconds=9),
            verb="ack_failed",
            provider_error_code="BAD_TIME",
            last_error="too old",
        ),
    ]

    failed, claimed, added = STORY.steps(events, FAILURES)

    assert added.sentence == "Added by ayse"
    assert claimed.sentence.replace("\xa0", " ") == "Claimed by the script · attempt 2 · 4 minutes later"
    assert failed.sentence == "Failed, as reported by the script · 9 seconds later"
    assert (failed.error_code, failed.error_message) == ("BAD_TIME", "too old")


def test_the_error_that_a_row_keeps_is_shown_only_where_it_happened() -> None:
    (step,) = STORY.steps([event("FAILED", "QUEUED", verb="retry_selected", provider_error_code="X")], FAILURES)

    assert step.error_code == ""
    assert ("provider_error_code", "X") in step.details, "folded"


def test_a_failed_attempt_shows_its_error_though_the_row_waits() -> None:
    (step,) = Story({}).steps([event("SENDING", "RETRY", verb="retry_later", provider_error_code="X")], FAILURES)

    assert (step.sentence, step.error_code) == ("The attempt failed, as reported by the API key of site", "X")


def test_what_follows_within_a_second_names_no_span() -> None:
    first, second = event("", "QUEUED"), event("QUEUED", "PROCESSING", after=timedelta(milliseconds=400))

    assert "later" not in STORY.steps([first, second], FAILURES)[0].sentence


@pytest.mark.parametrize(
    ("actor", "name"),
    [
        ("operator:ayse", "ayse"),
        ("sweep:oci_attempt_cap", "the scheduled task oci_attempt_cap"),
        ("command:oci_import", "the command oci_import"),
        ("runner:floor-1:4711", "the runner on floor-1"),
        ("worker:pdf", "a worker"),
        ("key:shop", "the API key of shop"),
        ("kilit_app", "kilit_app"),
    ],
)
def test_actors_are_named_as_people_call_them(actor: str, name: str) -> None:
    assert Story().who(actor) == name


def test_an_event_without_a_sentence_still_says_what_happened() -> None:
    moved, noted = event("NEW", "DONE", actor="psql"), event("NEW", "NEW", actor="psql")

    assert [step.sentence for step in Story().steps([noted, moved], FAILURES)] == [
        "Moved to “DONE” by psql",
        "STATE_NEW by psql",
    ]


def test_times_in_messages_and_details_are_in_the_readers_zone() -> None:
    late = event("FAILED", "QUEUED", retry_count=1, next_run_at="2026-11-16T22:30:15.123456+00:00", parts=["a"])
    late.message = "Asked again at 2026-11-16T22:30:00Z, not at 2026-99-16T22:30:00Z."

    with timezone.override("Europe/Istanbul"):
        (step,) = STORY.steps([late], FAILURES)
        shown = dict(step.details)

    assert shown["next_run_at"] == "2026-11-17 01:30"
    assert (shown["retry_count"], shown["parts"]) == (1, "a")
    assert step.message == "Asked again at 2026-11-17 01:30, not at 2026-99-16T22:30:00Z."

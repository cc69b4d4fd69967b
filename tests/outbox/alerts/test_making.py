"""Which alerts are made: one when a problem opens, grows tenfold and closes, and no more."""

from datetime import UTC, datetime, time, timedelta

import pytest
from django.db import connection
from django.utils import timezone

from kilit.problems.kinds import ProblemKind
from kilit.problems.models import ProblemRecord
from kilit.problems.tracking import track_problems
from outbox.alerts import making
from outbox.models import AlertedProblem, Channel, OutboxMessage
from tests.support.alerts import bodies, held, kinds, make_channel, time_passes
from tests.support.people import make_user

pytestmark = pytest.mark.django_db


def minutes_pass(minutes: int) -> None:
    time_passes(timedelta(minutes=minutes))


def test_a_problem_is_reported_when_it_opens_when_it_grew_tenfold_and_when_it_is_over(problems) -> None:
    make_channel()
    for count in (7, 7, 69, 70, 80, 699, 700):
        problems[:] = [held(count)]
        track_problems()
        minutes_pass(1)
    assert kinds() == ["alert.opened", "alert.grew", "alert.grew"]

    problems.clear()
    for _ in range(3):
        track_problems()
        minutes_pass(6)

    assert kinds() == ["alert.opened", "alert.grew", "alert.grew", "alert.closed"]
    assert not AlertedProblem.objects.exists()


def test_a_problem_that_returns_within_ten_minutes_is_not_reported_again(problems) -> None:
    make_channel()
    for is_there in (True, False, True, False, True):
        problems[:] = [held()] if is_there else []
        track_problems()
        minutes_pass(8)

    assert kinds() == ["alert.opened"]


def test_rows_that_nobody_takes_are_reported_when_they_were_seen_for_two_minutes(problems) -> None:
    make_channel()
    problems[:] = [held(kind=ProblemKind.NOT_TAKEN)]
    made = []
    for _ in range(4):
        track_problems()
        made.append(kinds())
        minutes_pass(1)

    assert made == [[], [], ["alert.opened"], ["alert.opened"]]


def test_rows_that_nobody_took_for_a_moment_are_not_reported(problems) -> None:
    """As when a pause of an hour has just ended: the rows were due all the time, and nobody could take them."""
    make_channel()
    problems[:] = [held(kind=ProblemKind.NOT_TAKEN)]
    track_problems()
    problems.clear()
    for _ in range(3):
        minutes_pass(6)
        track_problems()

    assert ProblemRecord.objects.get().status == "CLOSED"
    assert kinds() == []


def test_up_to_three_at_once_are_messages_of_their_own(problems) -> None:
    make_channel()
    problems[:] = [held(name=name) for name in "ABC"]

    track_problems()

    assert kinds() == ["alert.opened"] * 3


def test_more_at_once_become_one_digest(problems) -> None:
    make_channel()
    problems[:] = [held(name=name, title=f"Problem {name}") for name in "ABCD"]

    track_problems()
    track_problems()

    (body,) = bodies()
    assert kinds() == ["alert.digest"]
    assert body["subject"] == "[Kilit] 4 problems"
    assert all(f"Problem {name}" in body["text"] for name in "ABCD")


def at(hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 3, 2, hour, minute, tzinfo=UTC)


def test_quiet_hours_end_with_one_digest_of_what_is_open_and_what_came_and_went(problems, monkeypatch) -> None:
    channel = make_channel(quiet_from=time(22), quiet_to=time(8), time_zone="Europe/Istanbul")
    is_quiet = True
    monkeypatch.setattr(Channel, "is_quiet", lambda _self, _now: is_quiet)
    problems[:] = [held(name="A", title="It stays")]
    track_problems()
    problems.append(held(name="B", title="It came and went"))
    track_problems()
    del problems[1]
    minutes_pass(11)
    track_problems()
    assert kinds() == []

    is_quiet = False
    track_problems()
    track_problems()

    (body,) = bodies()
    assert kinds() == ["alert.digest"]
    assert body["subject"] == "[Kilit] 1 problem, 1 problem is over"
    assert "It stays" in body["text"]
    assert "Came and went; it lasted less than a minute\nIt came and went" in body["text"]
    assert not Channel.objects.get(pk=channel.pk).is_holding_back


@pytest.mark.parametrize(
    ("begin", "end", "hour", "is_quiet"),
    [
        (22, 8, 18, False),  # 21:00 in Istanbul
        (22, 8, 19, True),  # 22:00
        (22, 8, 4, True),  # 7:00
        (22, 8, 5, False),  # 8:00
        (12, 14, 9, True),
        (12, 14, 11, False),
    ],
)
def test_quiet_hours_are_those_of_the_channels_time_zone(begin: int, end: int, hour: int, is_quiet: bool) -> None:
    channel = Channel(quiet_from=time(begin), quiet_to=time(end), time_zone="Europe/Istanbul")

    assert channel.is_quiet(at(hour)) == is_quiet


def test_a_muted_problem_is_not_reported_until_the_mute_ends(problems) -> None:
    make_channel()
    problems.append(held())
    track_problems()
    ProblemRecord.objects.mute(reason="maintenance", until=timezone.now() + timedelta(hours=1))
    problems[:] = [held(100)]
    track_problems()
    assert kinds() == ["alert.opened"]

    ProblemRecord.objects.update(muted_until=timezone.now())
    track_problems()

    assert kinds() == ["alert.opened", "alert.grew"]


def test_a_muted_problem_that_ends_is_never_reported(problems) -> None:
    make_channel()
    problems.append(held())
    track_problems()
    ProblemRecord.objects.mute(reason="maintenance", until=timezone.now() + timedelta(hours=1))
    problems.clear()
    minutes_pass(11)
    track_problems()
    ProblemRecord.objects.update(muted_until=timezone.now() + timedelta(minutes=1))
    track_problems()

    assert kinds() == ["alert.opened"]
    assert not AlertedProblem.objects.exists()


def test_a_channel_that_is_off_or_whose_owner_left_gets_nothing(problems) -> None:
    make_channel(owner=make_user(is_active=False))
    off = make_channel(is_on=False)
    problems.append(held())
    track_problems()
    assert kinds() == []

    Channel.objects.filter(pk=off.pk).update(is_on=True)
    track_problems()
    Channel.objects.filter(pk=off.pk).update(is_on=False)
    track_problems()
    assert not AlertedProblem.objects.exists()

    assert kinds() == ["alert.opened"]


@pytest.mark.django_db(transaction=True)
def test_a_maker_that_dies_before_the_commit_has_made_nothing_and_the_next_makes_all(problems, monkeypatch) -> None:
    make_channel()
    problems.append(held())

    def die(*_: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(making, "_note", die)
        with pytest.raises(SystemExit):
            track_problems()
    connection.close()
    assert kinds() == []

    track_problems()
    track_problems()

    assert kinds() == ["alert.opened"]


@pytest.mark.django_db(transaction=True)
def test_two_makers_at_once_make_one_message(problems, in_threads) -> None:
    channel = make_channel()
    problems.append(held())
    Channel.objects.update(is_on=False)
    track_problems()
    Channel.objects.update(is_on=True)

    in_threads(lambda _number: making.make_for_channel(channel.pk), count=4)

    assert kinds() == ["alert.opened"]


def test_a_channel_that_fails_does_not_silence_the_others(problems, caplog) -> None:
    make_channel(name="broken", time_zone="Mars/Base")
    make_channel(name="works")
    problems.append(held())

    with pytest.raises(making.AlertsNotMade, match="1 channels"):
        track_problems()

    assert OutboxMessage.objects.get().channel.name == "works"
    assert "were not made" in caplog.text

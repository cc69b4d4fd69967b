"""Times in words: seconds are "less than a minute", never "0 minutes"."""

from datetime import timedelta

import pytest
from django.utils import timezone

from kilit.console.formatting import duration, since
from kilit.spans import ago, distance, format_span, moment
from tests.support.commands import ROOT
from tests.support.packages import PRODUCT


@pytest.mark.parametrize("seconds", [-59, -1, 0, 1, 59])
def test_seconds_are_less_than_a_minute_in_both_directions(seconds) -> None:
    time = timezone.now() + timedelta(seconds=seconds)

    assert distance(time) == "less than a minute"
    assert "less than a minute" in since(time)
    assert ago(time) == "less than a minute ago"


def test_the_next_seconds_are_not_in_0_minutes() -> None:
    assert moment(timezone.now() + timedelta(seconds=40)).endswith("(in less than a minute)")
    assert moment(timezone.now() + timedelta(minutes=3, seconds=5)).endswith("(in 3\xa0minutes)")


def test_longer_spans_are_in_one_unit() -> None:
    assert format_span(timedelta(minutes=61)) == "1\xa0hour"
    assert duration(timedelta(milliseconds=3)) == "less than a second"
    assert duration(timedelta(seconds=3)) == "3 seconds"
    assert duration(timedelta(days=9)) == "1\xa0week"


def test_no_page_formats_spans_in_another_way() -> None:
    files = [
        path for name in (*PRODUCT, "templates") for path in (ROOT / name).rglob("*") if path.suffix in (".py", ".html")
    ]
    users = {path.relative_to(ROOT).as_posix() for path in files if "timesince" in path.read_text()}

    assert users == {"kilit/spans.py"}

"""The wording of alerts: in the language of the channel, with a link, and with nothing personal."""

from datetime import UTC, datetime

import pytest

from kilit.problems.registry import Place
from kilit.problems.tracking import track_problems
from tests.support.alerts import bodies, held, make_channel

pytestmark = pytest.mark.django_db


def test_each_channel_has_its_own_language_and_time_zone(problems) -> None:
    problems.append(held(1200, since=datetime(2026, 3, 2, 12, tzinfo=UTC), where=[Place("Ege", 1200)]))
    make_channel(language="tr", time_zone="Europe/Istanbul")
    make_channel(language="en", time_zone="Europe/London")

    track_problems()

    turkish, english = sorted(bodies(), key=lambda body: 'lang="tr"' not in body["html"])
    assert "Ege (1.200)" in turkish["text"]
    assert "15:00" in turkish["text"]
    assert "Warning" in english["subject"]
    assert turkish["subject"] != english["subject"]
    assert "Ege (1,200)" in english["text"]
    assert 'lang="tr"' in turkish["html"]


def test_nothing_personal_leaves(problems) -> None:
    make_channel()
    cause = "No consent of ayse.yilmaz@example.com, +90 555 123 45 67."
    problems.append(held(cause=cause, where=[Place("Ahmet Demir", 2, is_personal=True)]))
    problems.append(held(name="E_Y", cause="E_Y: Ahmet's door", is_cause_personal=True))

    track_problems()

    text = str(bodies())
    assert "[Kilit] Warning" in text
    assert not any(word in text for word in ("yilmaz", "123", "Ahmet", "ops@example.com"))


def test_the_link_leads_to_the_page_of_the_problem(problems, settings) -> None:
    settings.PUBLIC_URL = "https://kilit.example.com"
    make_channel()
    problems.append(held(link="/admin/orchestrator/job/?status=HOLD&code=<E_X>"))

    track_problems()

    (body,) = bodies()
    assert "https://kilit.example.com/admin/orchestrator/job/?status=HOLD" in body["text"]
    assert "<E_X>" not in body["html"]

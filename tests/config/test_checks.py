"""System checks refuse settings that would break the promises, and a production example passes them all."""

import pytest
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.test import override_settings

from config import checks


def test_our_own_settings_pass() -> None:
    call_command("check", fail_level="WARNING")


@pytest.mark.parametrize(
    ("changed", "identifier"),
    [
        ({"retry": 100}, "kilit.E001"),
        ({"queue_limit": 50}, "kilit.E001"),
        ({"max_attempts": 0}, "kilit.E002"),
        ({"save_limit": 250}, "kilit.E002"),
        ({"ack_failures": False}, "kilit.E002"),
        ({"scheduler": True}, "kilit.E002"),
        ({"guard_cycle": 0.7}, "kilit.E002"),
    ],
)
def test_a_cluster_that_would_retry_tasks_is_refused(changed: dict, identifier: str) -> None:
    with override_settings(Q_CLUSTER={**settings.Q_CLUSTER, **changed}), pytest.raises(SystemCheckError) as refusal:
        call_command("check")

    assert identifier in str(refusal.value)
    assert "HINT" in str(refusal.value)


def test_another_database_is_refused(monkeypatch) -> None:
    monkeypatch.setitem(settings.DATABASES["default"], "ENGINE", "django.db.backends.sqlite3")

    assert [message.id for message in checks.check_engine()] == ["kilit.E003"]


def test_a_local_installation_gets_the_deployment_warnings() -> None:
    ids = [message.id for message in checks.check_production()]

    assert ids == ["kilit.W001", "kilit.W002", "kilit.W003", "kilit.W007"]


def test_an_upload_that_could_outlive_its_task_is_refused(settings) -> None:
    settings.GOOGLE_ADS_TIMEOUT = settings.TASK_TIMEOUT

    assert [message.id for message in checks.check_upload_fits()] == ["kilit.E005"]


@pytest.mark.parametrize("address", ["hc-ping.com/1", "file:///etc/passwd", "https://", "https://hc ping.com/1"])
def test_a_dead_mans_switch_without_an_http_address_is_refused(settings, address: str) -> None:
    settings.HEARTBEAT_URL = address

    assert [message.id for message in checks.check_heartbeat_url()] == ["kilit.E006"]

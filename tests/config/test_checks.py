"""System checks refuse settings that would break the promises, and a production example passes them all."""

import inspect
from ipaddress import ip_network

import pytest
from django.conf import settings
from django.core.checks.registry import registry
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import NotSupportedError, connection, connections
from django.test import override_settings

from config import checks
from kilit.sites.oidc.grants import read_grants


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


@pytest.mark.django_db  # migrate asks for the version of the server
@pytest.mark.parametrize("command", ["up", "runworkers", "orchestrator_tick", "migrate", "backup x", "demo"])
def test_a_service_does_not_start_with_settings_that_break_a_guarantee(command: str) -> None:
    late = override_settings(Q_CLUSTER={**settings.Q_CLUSTER, "retry": 100})

    with late, pytest.raises(SystemCheckError, match=r"kilit\.E001"):
        call_command(*command.split(), skip_checks=False)


def test_every_check_of_ours_has_a_tag() -> None:
    """Services choose by tag what they check, and would leave out one without."""
    known = registry.get_checks(include_deployment_checks=True)
    ours = [check for check in known if "site-packages" not in inspect.getfile(check)]

    assert {"config.checks", "pdfjobs.checks"} <= {check.__module__ for check in ours}
    assert [check.__name__ for check in ours if not check.tags] == []


def test_another_database_is_refused(monkeypatch) -> None:
    monkeypatch.setitem(settings.DATABASES["default"], "ENGINE", "django.db.backends.sqlite3")

    assert [message.id for message in checks.check_engine()] == ["kilit.E003"]


@pytest.mark.django_db
def test_tables_of_0_1_0_are_refused_with_the_way_out() -> None:
    assert checks.check_origin(databases=["default"]) == []

    with connection.cursor() as cursor:
        cursor.execute("COMMENT ON TABLE django_migrations IS 'Kilit 0.1.0'")
    (refusal,) = checks.check_origin(databases=["default"])

    assert refusal.id == "kilit.E011"
    assert "made by Kilit 0.1.0 (unreleased)" in refusal.msg
    assert "start with an empty database" in refusal.msg
    assert checks.check_origin() == []  # without a database


@pytest.mark.django_db
@pytest.mark.parametrize(("version", "expected"), [(14, ["kilit.E007"]), (15, []), (18, []), (19, ["kilit.W008"])])
def test_servers_of_other_versions_than_the_tested_ones_are_reported(monkeypatch, version, expected) -> None:
    monkeypatch.setitem(vars(connections["default"]), "pg_version", version * 10000 + 3)

    assert [message.id for message in checks.check_server_version(databases=["default"])] == expected
    assert checks.check_server_version() == []  # without a database


@pytest.mark.django_db
def test_migrate_refuses_a_server_that_django_no_longer_supports(monkeypatch) -> None:
    def connect(_: object) -> int:
        raise NotSupportedError("PostgreSQL 14 or later is required (found 13.22).")

    monkeypatch.delitem(vars(connections["default"]), "pg_version", raising=False)
    monkeypatch.setattr(type(connections["default"]), "pg_version", property(connect), raising=False)

    with pytest.raises(SystemCheckError, match=r"found 13\.22[^\0]*tested with PostgreSQL 15 to 18"):
        call_command("migrate", skip_checks=False, plan=True)


def test_a_local_installation_gets_the_deployment_warnings() -> None:
    ids = [message.id for message in checks.check_production()]

    embedded = ["kilit.W002"] if connection.settings_dict["ENGINE"] == "kilit.postgres" else []
    assert ids == ["kilit.W001", *embedded, "kilit.W007"]


def test_production_without_a_reader_of_the_metrics_gets_a_warning(settings) -> None:
    settings.METRICS_TOKEN, settings.METRICS_ALLOW = "", []
    assert checks.check_metrics() == []

    settings.PRODUCTION = True
    assert [message.id for message in checks.check_metrics()] == ["kilit.W003"]

    settings.METRICS_ALLOW = [ip_network("10.0.0.5")]
    assert checks.check_metrics() == []


def test_links_in_mails_need_the_address_of_the_console(settings) -> None:
    settings.EMAIL_HOST = "mail.example.com"
    assert "kilit.W009" in [message.id for message in checks.check_production()]

    settings.PUBLIC_URL = "https://kilit.example.com"
    assert "kilit.W009" not in [message.id for message in checks.check_production()]


def test_an_upload_that_could_outlive_its_task_is_refused(settings) -> None:
    settings.GOOGLE_ADS_TIMEOUT = settings.TASK_TIMEOUT

    assert [message.id for message in checks.check_upload_fits()] == ["kilit.E005"]


@pytest.mark.parametrize("address", ["hc-ping.com/1", "file:///etc/passwd", "https://", "https://hc ping.com/1"])
def test_a_dead_mans_switch_without_an_http_address_is_refused(settings, address: str) -> None:
    settings.HEARTBEAT_URL = address

    assert [message.id for message in checks.check_heartbeat_url()] == ["kilit.E006"]


OIDC = {
    "OIDC_ISSUER": "https://id.example.com/realms/main",
    "OIDC_CLIENT_ID": "kilit",
    "OIDC_CLIENT_SECRET": "secret",
    "OIDC_GRANTS": read_grants("ops=operator"),
}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"OIDC_ISSUER": "http://localhost:8080/realms/main"}, []),
        ({"OIDC_ISSUER": ""}, ["kilit.E009"]),
        ({"OIDC_CLIENT_ID": "", "OIDC_CLIENT_SECRET": ""}, ["kilit.E009", "kilit.E009"]),
        ({"OIDC_GRANTS": []}, ["kilit.E009"]),
        ({"OIDC_ISSUER": "http://id.example.com"}, ["kilit.E010"]),
        ({"OIDC_ISSUER": "http://localhost.evil.example"}, ["kilit.E010"]),
        ({"OIDC_ISSUER": "id.example.com"}, ["kilit.E010"]),
        ({"OIDC_ISSUER": f"https://id.example.com/{'x' * 200}"}, ["kilit.E010"]),
    ],
)
def test_logins_by_openid_connect_are_set_up_as_a_whole(changes, expected) -> None:
    with override_settings(**{**OIDC, **changes}):
        assert [message.id for message in checks.check_oidc()] == expected
    assert checks.check_oidc() == []

"""Demo data is repeatable, and never reaches a production installation."""

import json
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from config.local.stack import Stack
from config.management.commands.up import Command
from config.papers.content import PaperRequest, paper_request
from kilit.access.models import ApiKey
from kilit.access.roles import Role, role_of
from ociqueue.demo import DEMO_ACCOUNT
from ociqueue.models import Conversion, Credentials, Receipt, Site
from ociqueue.states import CONVERSIONS
from orchestrator.demo import ORDERS, plays_here
from orchestrator.figures.job_figures import figures_of
from orchestrator.models import Customer, Job, RulesVersion
from orchestrator.planning.rules import SHIPPED, read_rules
from outbox.demo import DESCRIPTION
from outbox.models import Endpoint
from pdfjobs.models import PdfJob

pytestmark = pytest.mark.django_db


def demo(capsys, settings, folder) -> dict:
    settings.KILIT_VAR = folder
    call_command("demo", json=True)
    return json.loads(capsys.readouterr().out)


def test_a_second_run_prints_the_same_and_makes_nothing(capsys, settings, tmp_path) -> None:
    first = demo(capsys, settings, tmp_path)
    counted = (User, Site, Conversion, ApiKey, Customer, Job)
    made = [model.objects.count() for model in counted]
    second = demo(capsys, settings, tmp_path)

    assert first == second
    assert {"operator", "viewer", "script_site", "api_site", "service"} <= set(first)
    assert [model.objects.count() for model in counted] == made
    assert not RulesVersion.objects.exists(), "the folders are not the demo's, so the rules are not"


def test_each_site_key_opens_its_site(capsys, settings, tmp_path, client) -> None:
    shown = demo(capsys, settings, tmp_path)

    answers = {
        name: client.get(
            "/api/oci/google-ads-export",
            {"siteId": shown[name]["public_id"]},
            headers={"x-api-key": shown[name]["api_key"]},
        )
        for name in ("script_site", "api_site")
    }

    assert answers["script_site"].json()["items"] == []
    assert answers["api_site"].json()["error"]["code"] == "NOT_A_SCRIPT_SITE"


def test_the_service_key_opens_the_pdf_queue_and_each_template_is_there_once(
    capsys, settings, tmp_path, client
) -> None:
    shown = demo(capsys, settings, tmp_path)

    jobs = PdfJob.objects.filter(owner__username=shown["service"]["username"])
    assert sorted(jobs.filter(status="queued").values_list("template_name", flat=True)) == sorted(
        settings.PDF_TEMPLATES
    )
    assert jobs.get(status="failed").error_code == "TEMPLATE_ERROR"
    answer = client.get(f"/pdf/jobs/{jobs[0].pk}", headers={"x-api-key": shown["service"]["api_key"]})
    assert answer.json()["job_id"] == str(jobs[0].pk)


def test_the_services_key_opens_the_cutting_jobs(capsys, settings, tmp_path, client) -> None:
    key = demo(capsys, settings, tmp_path)["service"]["api_key"]

    answer = client.get("/jobs", headers={"x-api-key": key})

    assert len(answer.json()["jobs"]) == len(ORDERS)


def test_the_demos_jobs_have_amounts_and_the_shipped_rules_no_prices(capsys, settings, tmp_path) -> None:
    for name in ("OPTI_IMPORT_FOLDER", "OPTI_EXPORT_FOLDER", "SAW_FOLDER"):
        setattr(settings, name, tmp_path / "floor" / name)
    demo(capsys, settings, tmp_path)
    demo(capsys, settings, tmp_path)

    job = Job.objects.get(order_id="DEMO-1001")
    figures = figures_of(job)
    assert figures
    assert figures.amounts
    assert figures.amounts.missing == ()
    assert paper_request(job, "offer", PaperRequest()).variables["lines"]
    assert RulesVersion.objects.filter(actor="demo").count() == 1
    assert read_rules(SHIPPED.read_bytes()).prices is None


def test_the_simulator_plays_in_no_folder_of_a_factory(settings, tmp_path) -> None:
    settings.KILIT_VAR = tmp_path
    for name in ("OPTI_IMPORT_FOLDER", "OPTI_EXPORT_FOLDER", "SAW_FOLDER"):
        setattr(settings, name, tmp_path / name)
    assert plays_here()

    settings.SAW_FOLDER = tmp_path.parent / "saw"
    assert not plays_here()
    settings.SAW_FOLDER = tmp_path / "saw"
    settings.PRODUCTION = True
    assert not plays_here()


def test_the_showcase_has_something_in_every_state(capsys, settings, tmp_path) -> None:
    demo(capsys, settings, tmp_path)

    assert set(Conversion.objects.values_list("status", flat=True)) == set(CONVERSIONS.states)
    assert Conversion.objects.stuck().exists()


def test_each_login_works_and_has_its_role(capsys, settings, tmp_path, rf) -> None:
    shown = demo(capsys, settings, tmp_path)

    for role in (Role.OPERATOR, Role.VIEWER, Role.ADMIN):
        user = authenticate(rf.post("/admin/login/"), **shown[role])
        assert role_of(user) is role


def test_the_same_passwords_serve_a_new_database(capsys, settings, tmp_path) -> None:
    first = demo(capsys, settings, tmp_path)
    User.objects.exclude(username="demo-service").delete()  # whose PDF jobs stay
    second = demo(capsys, settings, tmp_path)

    assert [second[role] for role in Role] == [first[role] for role in Role]
    assert (tmp_path / "demo.json").stat().st_mode & 0o777 == 0o600


def test_production_gets_no_known_logins(settings, tmp_path) -> None:
    settings.PRODUCTION = True

    with pytest.raises(CommandError, match="local use"):
        call_command("demo")

    assert not User.objects.exists()


def test_the_command_prints_a_line_for_each_login(capsys, settings, tmp_path) -> None:
    settings.KILIT_VAR = tmp_path

    call_command("demo")

    assert "operator  username demo-operator  password " in capsys.readouterr().out


def test_the_demo_uploads_to_a_server_on_loopback_only(capsys, settings, tmp_path) -> None:
    settings.GOOGLE_ADS_ENDPOINT = "localhost:1"
    shown = demo(capsys, settings, tmp_path)
    site = Site.objects.get(public_id=shown["api_site"]["public_id"])
    assert Credentials.objects.filter(site=site).exists()
    assert site.conversions.exists()

    settings.GOOGLE_ADS_ENDPOINT = ""
    demo(capsys, settings, tmp_path)

    assert not Credentials.objects.exists()


def test_the_data_manager_site_waits_for_verdicts_and_uploads_to_loopback_only(capsys, settings, tmp_path) -> None:
    settings.DATA_MANAGER_ENDPOINT = "http://127.0.0.1:1"
    shown = demo(capsys, settings, tmp_path)
    demo(capsys, settings, tmp_path)
    site = Site.objects.get(public_id=shown["data_manager_site"]["public_id"])

    assert Counter(site.conversions.values_list("status", flat=True)) == {"UPLOADED": 6, "QUEUED": 6}
    assert Receipt.objects.due().get(batch__site=site).request_id.startswith("TAKEN-6-")
    assert Credentials.objects.get(site=site).account() == DEMO_ACCOUNT

    settings.DATA_MANAGER_ENDPOINT = "https://datamanager.googleapis.com"
    demo(capsys, settings, tmp_path)

    assert not Credentials.objects.exists()


def test_a_stored_login_stays(capsys, settings, tmp_path) -> None:
    shown = demo(capsys, settings, tmp_path)
    site = Site.objects.get(public_id=shown["api_site"]["public_id"])
    own = replace(DEMO_ACCOUNT, refresh_token="their-own")
    Credentials.objects.store(site, own)

    demo(capsys, settings, tmp_path)

    assert Credentials.objects.get(site=site).account() == own


def test_the_secrets_of_the_receiver_are_not_on_its_command_line(tmp_path) -> None:
    stack = Stack(tmp_path, lock=tmp_path / "up.pid")

    Command().receive_webhooks(stack)

    secrets = Endpoint.objects.get(description=DESCRIPTION).secrets(datetime.now(UTC))
    assert stack.own_variables == {"receiver": {"WEBHOOK_SECRETS": " ".join(secrets)}}
    assert secrets[0] not in f"{stack.extra} {stack.environment}"

"""A connection that is cut during COMMIT: the answer says that the outcome is unknown, and sending again is safe."""

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models.functions import Now
from django.test import Client

from kilit.access.models import ApiKey
from kilit.workers.models import Heartbeat
from ociqueue.models import Conversion, Site
from pdfjobs.models import PdfJob
from tests.support.api import Api
from tests.support.conversions import SALE
from tests.support.cut_commits import Cut, CuttingProxy
from tests.support.outbox import make_endpoint
from tests.support.pdf_jobs import body, some_user

pytestmark = pytest.mark.django_db(transaction=True)

CUTS = [("request", 0), ("answer", 1)]
ORDER = {**SALE, "sourceKey": "order-1"}


@pytest.mark.parametrize(("cut", "stored"), CUTS)
def test_conversions_may_be_stored_and_are_sent_again(
    site: Site, api: Api, proxy: CuttingProxy, cut: Cut, stored: int
) -> None:
    request = {"siteId": str(site.public_id), "conversions": [ORDER]}
    proxy.cut = cut

    answer = api.post("oci/conversions", request)
    found = Conversion.objects.count()
    again = api.post("oci/conversions", request)

    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert answer.json()["error"]["code"] == "OUTCOME_UNKNOWN"
    assert "nothing was changed" not in answer.json()["error"]["message"]
    assert (found, again.status_code, Conversion.objects.count()) == (stored, 200, 1)


def test_before_the_commit_it_is_certain_that_nothing_was_changed(site: Site, api: Api, proxy: CuttingProxy) -> None:
    proxy.cut, proxy.words = "answer", b"json_to_recordset"

    answer = api.post("oci/conversions", {"siteId": str(site.public_id), "conversions": [ORDER]})

    assert (proxy.cuts, answer.status_code) == (1, 503)
    assert answer.json()["error"]["code"] == "UNAVAILABLE"
    assert "nothing was changed" in answer.json()["error"]["message"]


def test_after_the_first_of_two_commits_it_is_not(proxy: CuttingProxy) -> None:
    Heartbeat.objects.create(name="here:1", alive_at=Now())
    _, key = ApiKey.objects.issue(some_user(), name="test")
    make_endpoint(kinds=[])
    proxy.cut, proxy.words = "request", b"pdfjobs_pdfcallback"

    request = body(callbackUrl="https://shop.example/done")
    answer = Client().post("/pdf/jobs", request, "application/json", headers={"x-api-key": key})

    assert (proxy.cuts, answer.status_code) == (1, 503)
    assert answer.json()["error"]["code"] == "OUTCOME_UNKNOWN"
    connection.close()
    assert PdfJob.objects.count() == 1


def test_the_console_says_to_check_first(proxy: CuttingProxy) -> None:
    console = Client(raise_request_exception=False)
    User.objects.create_superuser("ayse", password="yeterince-uzun-bir-parola")
    proxy.cut = "answer"

    answer = console.post("/admin/login/", {"username": "ayse", "password": "yeterince-uzun-bir-parola"})

    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert "it is not known whether your change was stored. Check before you repeat it." in answer.text

"""The console as somebody uses it who chose Turkish; test_every_page.py reads its pages."""

import pytest
from django.test import Client

from ociqueue.models import Conversion
from tests.support.page_texts import read

pytestmark = pytest.mark.django_db


def turkish(client: Client) -> Client:
    client.cookies["django_language"] = "tr"
    return client


def test_an_action_asks_and_reports_in_turkish(client_of, showcase) -> None:
    failed = showcase.conversions.filter(status="FAILED").first()
    ended = showcase.conversions.filter(status="COMPLETED").first()
    client = turkish(client_of("operator"))
    ids = [str(failed.pk), str(ended.pk)]

    asked = client.post("/admin/ociqueue/conversion/", {"action": "retry", "_selected_action": ids})
    done = client.post(
        "/admin/ociqueue/conversion/act/retry_selected/", {"ids": ",".join(ids), "reason": "Hesap düzeldi"}, follow=True
    )

    shown = " ".join(read(asked.content.decode()))
    assert "Yeniden dene: 1 dönüşüm?" in shown
    assert "Yeniden dene: seçilen 2 satırdan 1 tanesi." in shown
    assert "Değişmeyecek: 1 (Gönderildi)." in shown
    assert "Yeniden denendi: 1 / 2; değişmedi: 1 (Gönderildi)." in " ".join(read(done.content.decode()))
    assert Conversion.objects.get(pk=failed.pk).status == "QUEUED"


def test_machines_are_answered_in_english(client_of, showcase) -> None:
    client = turkish(client_of("operator"))

    lost = client.get("/api/nowhere", headers={"accept-language": "tr"})
    page = client.get("/admin/nowhere/at/all/", headers={"accept-language": "tr"})

    assert lost.json()["error"]["message"] == "There is nothing at /api/nowhere."
    assert "Bu adreste bir şey yok: /admin/nowhere/at/all/" in page.content.decode()

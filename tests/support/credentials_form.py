"""The pages of an API site as a browser asks for them, and a login to store there."""

from typing import Any

from django.test import Client

from kilit.workers.models import Bell
from ociqueue.models import Credentials, Site
from ociqueue.models.credentials import GoogleAdsAccount

LIST = "/admin/ociqueue/site/"
MINE = "5551234567"
FULL = {
    "customer_id": "555-123-4567",
    "login_customer_id": "111-222-3333",
    "client_id": "stored-client-id",
    "client_secret": "stored-client-secret",
    "refresh_token": "stored-refresh-token",
    "developer_token": "stored-developer-token",
    "conversion_action": "7654321",
    "conversion_actions": "Teklif = 7654322\n\nKampanya = yaz = customers/5551234567/conversionActions/7654323\n",
}
# As stored and as typed: none of them may come back, but for Google's own words of a check. The customer id is no
# secret: pages show it beside the site's name.
VALUES = [MINE, "1112223333", "7654321", "7654322", "7654323", "Kampanya", "stored-"]


def page_of(site: Site, name: str = "credentials") -> str:
    return f"{LIST}{site.pk}/{name}/"


def store(client: Client, site: Site, **fields: str) -> Any:
    return client.post(page_of(site), fields, follow=True)


def stored(site: Site) -> GoogleAdsAccount:
    return Credentials.objects.get(site=site).account()


def is_rung(name: str) -> bool:
    return Bell.objects.filter(name=name, rung_at__isnull=False).exists()


def errors_of(answer: Any) -> dict[str, list[str]]:
    return {name: [str(text) for text in texts] for name, texts in answer.context["form"].errors.items()}

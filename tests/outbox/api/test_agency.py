"""Webhooks of all sites of an admin, with a key that manages sites."""

from typing import Any

import pytest
from django.contrib.auth.models import Group, User

from kilit.lock.models import Activity
from ociqueue.models import Site
from outbox.models import Endpoint
from tests.support.agency import agency_api, make_admin
from tests.support.api import Api, is_limited
from tests.support.dashboard import make_site
from tests.support.outbox import API

pytestmark = pytest.mark.django_db

URL = "https://hooks.example.com/kilit"


@pytest.fixture
def sites() -> list[Site]:
    return [make_site("Deniz"), make_site("Orman")]


@pytest.fixture
def foreign() -> Endpoint:
    return endpoint_of(make_site("Foreign"))


@pytest.fixture
def agency(sites: list[Site]) -> Api:
    return agency_api(make_admin(sites=sites), root=API)


def endpoint_of(site: Site) -> Endpoint:
    return Endpoint.objects.create(url=URL, kinds=["conversion.failed"], scope=str(site.pk))


def create(api: Api, site: Site | None, **more: Any) -> Any:
    where = {"site_id": site.public_id} if site else {}
    return api("POST", "endpoints", {"url": URL, "kinds": ["conversion.failed"], **where, **more})


def test_an_agencys_key_manages_the_webhooks_of_all_its_sites(agency: Api, sites: list[Site]) -> None:
    made = [create(agency, site) for site in sites]

    assert [answer.status_code for answer in made] == [201, 201]
    ids = [answer.json()["id"] for answer in made]
    assert [each["id"] for each in agency("GET", "endpoints").json()["endpoints"]] == ids
    assert agency("PATCH", f"endpoints/{ids[1]}", {"description": "ERP"}).json()["description"] == "ERP"
    rotated = agency("POST", f"endpoints/{ids[0]}/rotate-secret").json()["secret"]
    assert rotated != made[0].json()["secret"]
    assert agency("POST", f"endpoints/{ids[0]}/switch-off").json()["is_on"] is False
    assert agency("GET", "messages").status_code == 200


def test_the_activity_names_the_key(agency: Api, sites: list[Site]) -> None:
    pk = create(agency, sites[0]).json()["id"]
    agency("POST", f"endpoints/{pk}/rotate-secret")

    said = Activity.objects.filter(object_id=pk).order_by("pk").values_list("actor", "message")

    with_key = "With the API key provisioning (…"
    assert [(actor, message.partition(with_key)[0]) for actor, message in said] == [
        ("key:agency", ""),
        ("key:agency", "Rotated the signing secret. "),
    ]


def test_another_sites_webhook_is_like_an_unknown_one(agency: Api, foreign: Endpoint) -> None:
    unknown = "01999999-0000-7000-8000-000000000000"
    answers = [
        [
            agency("GET", f"endpoints/{pk}"),
            agency("PATCH", f"endpoints/{pk}", {"url": "https://mine.example.com"}),
            agency("POST", f"endpoints/{pk}/rotate-secret"),
            agency("DELETE", f"endpoints/{pk}"),
        ]
        for pk in (foreign.pk, unknown)
    ]

    assert [[answer.status_code for answer in each] for each in answers] == [[404] * 4] * 2
    assert [each.json() for each in answers[0]] == [each.json() for each in answers[1]]
    assert create(agency, Site.objects.get(name="Foreign")).status_code == 400
    assert agency("GET", "endpoints").json()["endpoints"] == []


def test_a_key_whose_user_is_no_admin_any_more_manages_no_webhook(agency: Api, sites: list[Site]) -> None:
    User.objects.get(username="agency").groups.set(Group.objects.none())

    assert create(agency, sites[0]).status_code == 403
    assert agency("GET", "endpoints").status_code == 403


def test_an_agencys_key_has_its_own_rate_limit_for_webhooks_too(agency: Api, settings: Any) -> None:
    settings.ADMIN_RATE_PER_MINUTE = 2

    assert is_limited(lambda: agency("GET", "endpoints"), after=2)

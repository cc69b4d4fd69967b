"""A site's Ads Script in the console, and the keys that are issued beside it."""

import pytest
from django.contrib.auth.models import User

from kilit.access.models import ApiKey

pytestmark = pytest.mark.django_db

LIST = "/admin/ociqueue/site/"


def test_the_script_has_the_sites_values_and_no_key(make_person, site, site_key) -> None:
    key = site_key(site)

    answer = make_person(sites={site: "viewer"}).get(f"{LIST}{site.pk}/ads-script/")

    script = answer.context["script"]
    assert f'"siteId": "{site.public_id}"' in script
    assert '"baseUrl": "http://testserver"' in script
    assert '"timeZone": "Europe/Istanbul"' in script
    assert '"apiKey": "PASTE-YOUR-KEY-HERE"' in script
    assert key not in answer.content.decode()
    assert "Issue a key" not in answer.content.decode()


def test_a_new_key_is_shown_once_in_the_script(admin, site, site_key) -> None:
    old = site_key(site)
    address = f"{LIST}{site.pk}/ads-script/issue-key/"

    asked = admin.get(address)
    issued = admin.post(address, {"name": "New script", "scopes": ["script"], **asked.context["kept"]})
    later = admin.get(f"{LIST}{site.pk}/ads-script/")

    assert asked.context["submit"] == "Issue the key"
    (reported,) = [str(message) for message in issued.context["messages"]]
    assert reported.startswith("Copy the key now; it is not shown again: <code>")
    key = reported.split("<code>")[1].split("</code>")[0]
    assert f'"apiKey": "{key}"' in issued.context["script"]
    assert key not in later.content.decode()
    assert ApiKey.objects.holding(key).user == ApiKey.objects.holding(old).user == site.service_user()
    assert "no-store" in issued["Cache-Control"]


def test_a_key_is_revoked_alone(make_person, make_site, site_key) -> None:
    site, other = make_site(), make_site()
    first, second, foreign = site_key(site), site_key(site), ApiKey.objects.holding(site_key(other))
    admin = make_person(role="admin", sites={site: "admin"})
    address = f"{LIST}{site.pk}/ads-script/revoke-key/{ApiKey.objects.holding(first).pk}/"

    asked = admin.get(address)
    answer = admin.post(address, follow=True)

    assert "cannot be undone" in asked.context["sentences"][0]
    assert "Revoked test" in str(next(iter(answer.context["messages"])))
    assert ApiKey.objects.holding(first) is None
    assert ApiKey.objects.holding(second) is not None
    assert admin.post(f"{LIST}{site.pk}/ads-script/revoke-key/{foreign.pk}/").status_code == 404
    assert ApiKey.objects.valid().filter(pk=foreign.pk).exists()


def test_keys_are_for_a_sites_admins(make_person, site, site_key) -> None:
    key = ApiKey.objects.holding(site_key(site))
    others = [
        make_person("ali", role="operator", sites={site: "operator"}),
        make_person("veli", role="admin", sites={site: "operator"}),
        make_person("can", role="viewer", sites={site: "admin"}),
    ]

    for person in others:
        assert person.post(f"{LIST}{site.pk}/ads-script/issue-key/", {"name": "mine"}).status_code == 403
        assert person.post(f"{LIST}{site.pk}/ads-script/revoke-key/{key.pk}/").status_code == 403
    assert list(ApiKey.objects.valid()) == [key]


def test_looking_at_the_script_makes_no_user(make_person, site) -> None:
    make_person(sites={site: "viewer"}).get(f"{LIST}{site.pk}/ads-script/")

    assert not User.objects.filter(username__startswith="site-").exists()


def test_the_page_says_that_google_cannot_reach_an_address_without_https(admin, site) -> None:
    address = f"{LIST}{site.pk}/ads-script/"

    local, public = admin.get(address), admin.get(address, secure=True)

    assert "Google cannot reach http://testserver." in local.text
    assert "Google cannot reach" not in public.text

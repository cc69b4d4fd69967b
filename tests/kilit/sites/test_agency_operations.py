"""Pause, resume, archive and restore by API: with all of the named sites, or with none."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry

from kilit.lock.models import Event
from ociqueue.models import Site
from tests.support.agency import agency_api, make_admin
from tests.support.api import Api

pytestmark = pytest.mark.django_db

REASONS = {"pause": "A holiday.", "archive": "The contract ended."}


def run(api: Api, verb: str, *sites: Any, **more: Any) -> Any:
    body = {"sites": [getattr(site, "public_id", site) for site in sites], **more}
    answer = api.post(f"oci/sites/{verb}", body | ({"reason": REASONS[verb]} if verb in REASONS else {}))
    assert answer.headers["Cache-Control"] == "no-store"
    return answer


def statuses(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.content
    return [each["status"] for each in answer.json()["results"]]


def test_each_verb_changes_what_is_not_so_yet_and_the_same_again_changes_nothing(
    root: Api, make_site: Callable[..., Site]
) -> None:
    sites = [make_site(name=f"Site {number}") for number in range(2)]

    for verb in ("pause", "resume", "archive", "restore"):
        assert statuses(run(root, verb, *sites)) == ["changed", "changed"]
        assert statuses(run(root, verb, *sites)) == ["unchanged", "unchanged"]

    events = Event.objects.filter(queue="site", object_id=sites[0].pk)
    assert set(events.values_list("actor", flat=True)) == {"key:admin"}
    assert set(events.values_list("event_type", flat=True)) == {
        "SITE_PAUSED",
        "SITE_RESUMED",
        "SITE_ARCHIVED",
        "SITE_RESTORED",
    }
    messages = (
        LogEntry.objects.filter(object_id=str(sites[0].pk)).order_by("pk").values_list("change_message", flat=True)
    )
    assert [message.partition(" With the API key provisioning (…")[0] for message in messages] == [
        "Paused: A holiday.",
        "Resumed.",
        "Archived: The contract ended.",
        "Restored.",
    ]


def test_a_dry_run_changes_no_site(root: Api, site: Site) -> None:
    for verb in ("pause", "archive"):
        assert statuses(run(root, verb, site, dryRun=True)) == ["changed"]

    site.refresh_from_db()
    assert (site.is_paused, site.archived_at) == (False, None)


def test_a_site_with_open_rows_keeps_all_from_being_archived(
    root: Api, make_site: Callable[..., Site], make_conversion: Any
) -> None:
    done, busy = make_site(name="Done"), make_site(name="Busy")
    make_conversion(busy)

    answer = run(root, "archive", done, busy)

    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (409, "CONFLICT")
    assert [each["field"] for each in error["fields"]] == ["sites.1"]
    assert not Site.objects.exclude(archived_at=None).exists()


def test_an_archived_site_is_not_resumed(root: Api, make_site: Callable[..., Site]) -> None:
    archived, paused = make_site(name="Archived"), make_site(name="Paused")
    run(root, "archive", archived)
    run(root, "pause", paused)

    assert statuses(run(root, "pause", archived)) == ["unchanged"]
    refused = run(root, "resume", paused, archived)

    assert refused.status_code == 409
    assert refused.json()["error"]["fields"] == [{"field": "sites.1", "message": "It is archived. Restore it first."}]
    assert Site.objects.filter(is_paused=True).count() == 2


def test_unknown_and_repeated_sites_are_named(root: Api, site: Site) -> None:
    unknown = run(root, "pause", site, "f" * 32)
    repeated = run(root, "pause", site, site)

    assert [answer.json()["error"]["fields"] for answer in (unknown, repeated)] == [
        [{"field": "sites.1", "message": "There is no such site among those you administer."}],
        [{"field": "sites.1", "message": "sites.0 is the same site."}],
    ]
    assert not Site.objects.filter(is_paused=True).exists()


@pytest.mark.parametrize("body", [{}, {"sites": []}, {"sites": "x"}, {"sites": [1]}, {"sites": ["x"], "force": True}])
@pytest.mark.parametrize("verb", ["pause", "resume", "archive", "restore"])
def test_bad_input_is_refused(root: Api, verb: str, body: Any) -> None:
    assert root.post(f"oci/sites/{verb}", body).status_code == 400


@pytest.mark.parametrize("verb", ["pause", "archive"])
def test_a_reason_is_needed(root: Api, site: Site, verb: str) -> None:
    for reason in ({}, {"reason": " "}, {"reason": "x" * 201}):
        assert root.post(f"oci/sites/{verb}", {"sites": [site.public_id], **reason}).status_code == 400


def test_an_admin_archives_and_pauses_only_what_the_console_allows(make_site: Callable[..., Site]) -> None:
    own, run_only, other = make_site(name="Own"), make_site(name="Run"), make_site(name="Other")
    api = agency_api(make_admin(sites={own: "admin", run_only: "operator"}))

    assert statuses(run(api, "pause", own, run_only)) == ["changed", "changed"]
    assert run(api, "pause", other).status_code == 400
    assert run(api, "archive", own, run_only).status_code == 400
    assert statuses(run(api, "archive", own)) == ["changed"]


@pytest.mark.django_db(transaction=True)
def test_two_requests_at_once_pause_each_site_once(root: Api, make_site: Callable[..., Site], in_threads: Any) -> None:
    sites = [make_site(name=f"Site {number}") for number in range(20)]

    # In opposite orders: rows that were locked in the order of a request would wait for each other.
    found = in_threads(lambda number: statuses(run(root, "pause", *sites[:: -1 if number else 1])), count=2)

    assert sorted(map(set, found), key=sorted) == [{"changed"}, {"unchanged"}]
    assert Event.objects.filter(event_type="SITE_PAUSED").count() == 20

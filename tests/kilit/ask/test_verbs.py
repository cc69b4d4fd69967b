"""The verbs over REST: what each kind of key is offered, what they answer, and what they change."""

import json

import pytest
from django.contrib.auth.models import User

from kilit.access.key_scopes import KeyScope
from kilit.access.models import ApiKey
from kilit.access.models.api_key import digest
from kilit.batches.models import BulkAction
from kilit.lock.audit import acting_as
from kilit.lock.models import Activity, Event, QueuePause
from kilit.sites.models import SiteMembership
from ociqueue.models import Conversion, Site
from tests.support import cutting_jobs, pdf_jobs
from tests.support.api import Api
from tests.support.ask import ACTS, OFFERS, READS, make_key
from tests.support.conversions import make_failed
from tests.support.people import make_person, make_user


@pytest.mark.parametrize("kind", OFFERS)
def test_a_key_is_told_what_it_may_use(world, kind) -> None:
    told = Api(world.keys[kind]).get("ask").json()

    assert [verb["name"] for verb in told["verbs"]] == OFFERS[kind]
    assert told["queues"]["conversion"] == "Offline conversions"
    assert told["scopes"] == list(ApiKey.objects.with_digest(digest(world.keys[kind])).get().scopes)


@pytest.mark.parametrize("kind", OFFERS)
def test_a_key_uses_just_what_it_is_offered(world, asks, kind) -> None:
    statuses = {verb: asks(kind, verb, body)[0] for verb, body in world.requests().items()}

    assert statuses == {verb: 200 if verb in OFFERS[kind] else 403 for verb in statuses}


def test_a_session_may_do_what_its_person_may(world) -> None:
    client = make_person("berk", sites=[world.site])

    told = Api(client=client).get("ask").json()
    found = Api(client=client).post("ask/find", {"text": str(world.failed.pk)}).json()

    assert (told["key"], [verb["name"] for verb in told["verbs"]]) == (None, [*READS, *ACTS])
    assert [job["id"] for job in found["jobs"]] == [str(world.failed.pk)]


def test_a_viewers_key_acts_on_nothing_whatever_its_scopes(world) -> None:
    viewer = Api(make_key(make_user("deniz", role="viewer", sites=[world.site]), KeyScope.READ, KeyScope.OPERATE))

    assert [verb["name"] for verb in viewer.get("ask").json()["verbs"]] == READS
    assert viewer.post("ask/retry", world.requests()["retry"]).status_code == 403


def test_an_operator_of_one_site_and_viewer_of_another_acts_on_the_first_alone(world) -> None:
    both = make_user("deniz", sites={world.site: "operator", world.other: "viewer"})
    ids = [str(world.failed.pk), str(world.foreign.pk)]

    answer = Api(make_key(both, KeyScope.READ, KeyScope.OPERATE)).post("ask/retry", {"ids": ids, "reason": "x"}).json()

    assert (answer["ids"], answer["message"]) == (ids[:1], "Retried 1 of 2.")
    assert answer["unchanged"] == [{"id": ids[1], "state": None, "why": "not of a site you run"}]


@pytest.mark.parametrize("name", ["id", "name on pages", "source key"])
def test_a_job_is_found_by_what_people_call_it(world, asks, name) -> None:
    text = {"id": str(world.failed.pk), "name on pages": str(world.failed), "source key": "zeyt"}[name]

    _status, answer = asks("reads", "find", {"text": text})

    assert [(job["id"], job["queue"], job["name"]) for job in answer["jobs"]] == [
        (str(world.failed.pk), "conversion", "zeytin-7")
    ]
    assert answer["more"] is False


@pytest.mark.parametrize("text", ["+90 555 111 22 33", "0555 111", "Ayşe", "S-77"])
def test_a_cutting_job_is_found_by_phone_customer_and_order(world, asks, text) -> None:
    customer = {"customer_phone": "+905551112233", "customer_snapshot_name": "Ayşe Yılmaz"}
    job = cutting_jobs.new_job(order_id="S-77", **customer)

    _status, answer = asks("reads", "find", {"text": text})

    assert [each["id"] for each in answer["jobs"]] == [str(job.pk)]


def test_a_document_is_found_by_its_number(world, asks) -> None:
    job = pdf_jobs.new_job(pdf_jobs.some_user("papers"), document_number="MKB-2026-7")

    assert [each["id"] for each in asks("reads", "find", {"text": "MKB-2026"})[1]["jobs"]] == [str(job.pk)]
    assert asks("site", "find", {"text": "MKB-2026"})[1]["jobs"] == []


def test_of_many_matches_the_newest_are_named(world, asks) -> None:
    rows = [make_failed(world.site, source_key=f"demo-{number}")[0] for number in range(4)]

    _status, answer = asks("reads", "find", {"text": "demo-", "limit": 3})

    assert [job["id"] for job in answer["jobs"]] == [str(row.pk) for row in rows[:0:-1]]
    assert answer["more"] is True


def test_an_explanation_says_why_what_helps_and_who_may_do_it(world, asks) -> None:
    Api(world.keys["acts"]).post("ask/retry", world.requests()["retry"])
    Conversion.objects.claim(limit=5)
    Conversion.objects.ack_failed(code="INVALID_VALUE", category="VALIDATION", message="again ayse@example.com")

    _status, told = asks("reads", "explain", {"job": "zeytin-7"})
    may = {
        each["name"]: (each["verb"], each["allowed"])
        for each in asks("acts", "explain", {"job": "zeytin-7"})[1]["actions"]
    }

    assert told["job"]["state_words"] == "Failed"
    assert told["blockers"][0] == {"kind": "blocked", "sentence": "Failed. It will not be retried automatically."}
    assert told["error"]["advice"] == "Correct it and send it again."
    assert told["error"]["message"] == "again a…@example.com"
    sentences = [step["sentence"] for step in told["timeline"]]
    assert any("Retried by the API key laptop of ayse" in sentence for sentence in sentences), sentences
    assert {each["allowed"] for each in told["actions"]} == {False}
    assert may == {"retry": ("retry", True), "reset": (None, False)}


def test_a_text_that_finds_several_jobs_explains_none(world, asks) -> None:
    make_failed(world.site, source_key="zeytin-71")

    status, answer = asks("reads", "explain", {"job": "zeytin-"})

    assert (status, answer["error"]["code"], len(answer["error"]["matches"])) == (409, "AMBIGUOUS", 2)


def test_a_whole_name_is_one_job_although_others_begin_with_it(world, asks) -> None:
    make_failed(world.site, source_key="zeytin-71")

    assert asks("reads", "explain", {"job": "zeytin-7"})[1]["job"]["id"] == str(world.failed.pk)


def test_groups_and_counts_and_sites(world, asks) -> None:
    groups = asks("reads", "error_groups")[1]["groups"]
    queues = {queue["queue"]: queue for queue in asks("reads", "queue_stats")[1]["queues"]}
    (site,) = asks("reads", "site_health")[1]["sites"]

    (group,) = [group for group in groups if group["queue"] == "conversion"]
    assert (group["count"], group["code"], group["message"]) == (1, "INVALID_VALUE", "refused at zeytin shop: …4567")
    assert (queues["conversion"]["failed"], queues["conversion"]["counts"]) == (1, {"FAILED": 1})
    assert (site["name"], site["counts"], site["failure_rate"]) == ("zeytin shop", {"FAILED": 1}, 1.0)
    assert site["findings"][0].startswith("100 % of the conversions")
    assert asks("reads", "queue_stats", {"queue": "nothing"})[0] == 404


def test_an_act_stands_in_the_activity_with_the_keys_name_and_its_reason(world, asks) -> None:
    status, answer = asks("acts", "retry", {"ids": [str(world.failed)], "reason": "Fixed at Google."})

    line = Activity.objects.get(kind="action")
    page = make_person("berk", sites=[world.site]).get("/admin/lock/activity/").content.decode()
    assert (status, answer["changed"], answer["message"]) == (200, 1, "Retried 1 of 1.")
    assert (line.actor, line.verb, line.message) == ("key:ayse:laptop", "retry_selected", "Fixed at Google.")
    assert line.scope == str(world.site.pk)
    assert Event.objects.filter(object_id=world.failed.pk).latest("pk").actor == "key:ayse:laptop"
    assert "the API key laptop of ayse" in page


def test_a_whole_error_group_is_retried(world, asks) -> None:
    make_failed(world.site, 4, message="refused at zeytin shop: +90 532 123 45 67")
    (group,) = [each for each in asks("acts", "error_groups")[1]["groups"] if each["queue"] == "conversion"]

    _status, answer = asks("acts", "retry", {"queue": "conversion", "group": group["group"], "reason": "x"})

    assert (answer["changed"], answer["message"]) == (5, "Retried 5 of 5.")
    assert asks("acts", "retry", {"queue": "conversion", "group": group["group"], "reason": "x"})[0] == 404


def test_no_act_is_over_more_than_a_thousand_rows(world, asks, monkeypatch) -> None:
    monkeypatch.setattr("kilit.ask.acting.MOST_ACTED_ON", 3)
    make_failed(world.site, 3, message="refused at zeytin shop: +90 532 123 45 67")
    (group,) = [each for each in asks("acts", "error_groups")[1]["groups"] if each["queue"] == "conversion"]
    ids = [str(world.failed.pk)] * 1001

    by_group = asks("acts", "retry", {"queue": "conversion", "group": group["group"], "reason": "x"})
    by_ids = asks("acts", "retry", {"ids": ids, "reason": "x"})

    assert (by_group[0], by_group[1]["error"]["code"]) == (409, "TOO_MANY")
    assert by_ids == (400, {"error": {**by_ids[1]["error"], "code": "VALIDATION"}})
    assert set(Conversion.objects.values_list("status", flat=True)) == {"FAILED"}
    assert not BulkAction.objects.exists()


@pytest.mark.parametrize("verb", ACTS)
@pytest.mark.parametrize("reason", [None, "", "   ", "x" * 201])
@pytest.mark.by_day(6)
def test_nothing_is_done_without_a_reason(world, asks, verb, reason) -> None:
    body = {**world.requests()[verb], "reason": reason}

    status, answer = asks("acts", verb, body if reason is not None else {**world.requests()[verb], "reason": ""})

    assert (status, answer["error"]["fields"][0]["field"]) == (400, "reason")


@pytest.mark.parametrize(
    "body",
    [{}, {"ids": []}, {"ids": ["x"]}, {"queue": "pdf"}, {"group": "g"}, {"ids": ["x"], "queue": "pdf", "group": "g"}],
)
def test_an_act_names_jobs_once(asks, body) -> None:
    assert asks("acts", "retry", {"reason": "x", **body})[0] == 400


def test_what_cannot_move_is_listed_with_its_state(world, asks) -> None:
    ids = [str(world.failed.pk), "0192e4a0-7c1e-7d2a-9b3c-4d5e6f708192"]
    asks("acts", "retry", {"ids": ids, "reason": "x"})

    _status, answer = asks("acts", "retry", {"ids": ids, "reason": "x"})

    assert (answer["changed"], answer["message"]) == (0, "Retried 0 of 1.")
    assert answer["unchanged"] == [
        {"id": ids[0], "state": "QUEUED", "why": "Waiting"},
        {"id": ids[1], "state": None, "why": "There is no such job among those that you see."},
    ]


def test_jobs_that_nobody_sees_are_not_found(asks) -> None:
    assert asks("acts", "retry", {"ids": ["0192e4a0-7c1e-7d2a-9b3c-4d5e6f708192"], "reason": "x"})[0] == 404


def test_held_jobs_are_approved_and_refusals_are_said(world, asks) -> None:
    body = world.requests()["approve"]

    first, second = asks("acts", "approve", body)[1], asks("acts", "approve", body)[1]

    assert (first["changed"], second["changed"]) == (1, 0)
    assert "cannot be approved" in second["unchanged"][0]["why"]
    assert Activity.objects.get(kind="action").actor == "key:ayse:laptop"


def test_a_queue_is_paused_and_resumed_under_the_keys_name(world, asks) -> None:
    paused, again = (asks("acts", "pause", {"queue": "pdf", "reason": "A new printer."})[1] for _ in range(2))
    stats = asks("reads", "queue_stats", {"queue": "pdf"})[1]["queues"][0]
    resumed = asks("acts", "resume", {"queue": "pdf", "reason": "It works."})[1]

    assert [each["changed"] for each in (paused, again, resumed)] == [True, False, True]
    assert (stats["is_paused"], stats["paused_by"]) == (True, "the API key laptop of ayse")
    assert list(Activity.objects.filter(kind="pause").order_by("pk").values_list("actor", "verb", "message")) == [
        ("key:ayse:laptop", "pause", "A new printer."),
        ("key:ayse:laptop", "resume", "It works."),
    ]
    assert not QueuePause.objects.exists()


def test_a_site_is_paused_and_resumed(world, asks) -> None:
    body = {"site": world.site.public_id, "reason": "Their shop moves."}

    assert asks("acts", "pause", body) == (200, {"changed": True, "message": "The site is paused."})
    assert asks("acts", "site_health")[1]["sites"][0]["is_paused"] is True
    assert asks("acts", "resume", body) == (200, {"changed": True, "message": "The site is resumed."})


def test_conversions_are_not_paused_as_a_queue(asks) -> None:
    assert asks("acts", "pause", {"queue": "conversion", "reason": "x"})[1]["error"]["code"] == "UNAVAILABLE_NOW"


def test_all_webhooks_are_paused_by_those_alone_who_manage_all(asks) -> None:
    body = {"queue": "message", "reason": "x"}

    assert (asks("acts", "pause", body)[0], asks("owner", "pause", body)[0]) == (403, 200)


def test_the_operators_endpoint_takes_keys_that_may_operate(world) -> None:
    body = {"siteId": world.site.public_id, "action": "RETRY_SELECTED", "ids": [str(world.failed)]}
    answers = {kind: Api(world.keys[kind]).post("oci/queue-actions", {**body, "reason": "x"}) for kind in OFFERS}
    without = Api(world.keys["acts"]).post("oci/queue-actions", body)

    assert {kind: answer.status_code for kind, answer in answers.items()} == {
        "reads": 403,
        "acts": 200,
        "site": 403,
        "owner": 200,
    }
    assert (without.status_code, without.json()["error"]["fields"][0]["field"]) == (400, "reason")
    assert Activity.objects.get(kind="action").actor == "key:ayse:laptop"


def test_a_key_without_a_scope_that_asks_is_refused(world) -> None:
    key = ApiKey.objects.issue(User.objects.get(username="ayse"), name="shop", scopes=["enqueue"])[1]

    assert Api(key).get("ask").json()["error"]["code"] == "MISSING_SCOPE"


SHORT_CLICK_IDS = ["EAIaIQobChMI-abc_DEF", "abc123", "ab.cd~ef", "WB%2Fx=", "SECRETGCLID12345"]


@pytest.mark.parametrize("click_id", SHORT_CLICK_IDS)
def test_no_answer_has_a_rows_click_id_whatever_it_looks_like(world, asks, click_id) -> None:
    (row,) = make_failed(world.site, code="NEW_CODE", message=f"Google rejects {click_id}: no.", gclid=click_id)
    with acting_as("operator:ayse", reason=f"Looked up {click_id}."):
        Conversion.objects.filter(pk=row.pk).retry_selected()

    answers = [asks("reads", verb, body)[1] for verb, body in world.requests().items() if verb in READS]
    explained = asks("reads", "explain", {"job": str(row.pk)})[1]
    Conversion.objects.claim(limit=5)
    Conversion.objects.ack_failed(code="NEW_CODE", category="PERMANENT", message=f"Google rejects {click_id}: no.")
    failed = asks("reads", "explain", {"job": str(row.pk)})[1]

    assert click_id not in json.dumps([*answers, explained, failed], ensure_ascii=False)
    assert failed["error"]["message"] == "Google rejects …: no."
    assert [step for step in explained["timeline"] if "Looked up …." in step["message"]]


def test_a_click_id_of_two_characters_leaves_the_words_of_an_error(world, asks) -> None:
    (row,) = make_failed(world.site, code="NEW_CODE", message="Google rejects it: no.", gclid="it")

    explained = asks("reads", "explain", {"job": str(row.pk)})[1]

    row.refresh_from_db()
    assert row.last_error == explained["error"]["message"] == "Google rejects it: no."


@pytest.mark.parametrize("verb", ["retry", "mark_failed"])
def test_ids_of_another_queue_than_the_named_one_change_nothing(world, asks, verb) -> None:
    ids = [str(world.failed.pk)]

    status, answer = asks("acts", verb, {"queue": "pdf", "ids": ids, "reason": "x"})

    assert (status, answer["error"]["code"], answer["error"]["ids"]) == (409, "OTHER_QUEUE", ids)
    assert ids[0] in answer["error"]["message"]
    assert not Activity.objects.filter(kind="action").exists()
    assert asks("acts", "retry", {"queue": "conversion", "ids": ids, "reason": "x"})[1]["changed"] == 1


def test_a_site_is_paused_by_words_of_its_name_if_they_name_one(world, asks) -> None:
    twin = Site.objects.create(name="Zeytin Shop 2", default_currency="TRY")
    SiteMembership.objects.create(site=twin, user=User.objects.get(username="ayse"), role="operator")

    paused = asks("acts", "pause", {"site": "zeytin shop", "reason": "x"})
    several = asks("acts", "pause", {"site": "ZEYT", "reason": "x"})
    foreign = asks("acts", "pause", {"site": "portakal shop", "reason": "x"})

    assert paused == (200, {"changed": True, "message": "The site is paused."})
    assert (several[0], several[1]["error"]["code"]) == (409, "AMBIGUOUS")
    assert [match["name"] for match in several[1]["error"]["matches"]] == ["Zeytin Shop 2", "zeytin shop"]
    assert foreign[0] == 404
    assert {site.name for site in Site.objects.filter(is_paused=True)} == {"zeytin shop"}


def test_a_whole_name_is_found_among_more_that_begin_with_it_than_are_looked_at(world, asks, monkeypatch) -> None:
    for number in range(3):
        make_failed(world.site, source_key=f"zeytin-7{number}")
    monkeypatch.setattr("kilit.ask.reading.MOST_MATCHES", 2)

    assert asks("reads", "explain", {"job": "zeytin-7"})[1]["job"]["id"] == str(world.failed.pk)
    assert asks("reads", "explain", {"job": "zeytin-"})[0] == 409


def test_a_text_that_is_too_short_is_called_so(asks) -> None:
    (error,) = asks("reads", "find", {"text": "x"})[1]["error"]["fields"]

    assert error == {"field": "text", "message": "Expected at least 2 characters."}

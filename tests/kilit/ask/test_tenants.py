"""With the key of one site nothing of another is found, explained, counted or changed: tried for every verb."""

import pytest

from kilit.ask.verbs import VERBS
from kilit.lock.models import Activity, QueuePause
from ociqueue.models import Conversion, Site
from outbox.models import OutboxMessage
from tests.support.api import Api
from tests.support.ask import OFFERS, AskWorld
from tests.support.mcp import Mcp

OF_ONE_SITE = ["reads", "acts", "site"]


def test_every_verb_is_tried(world) -> None:
    assert {verb for verb, _body in world.foreign_requests()} == set(VERBS)


@pytest.mark.parametrize("kind", OF_ONE_SITE)
@pytest.mark.by_day(1)
def test_nothing_of_another_site_is_in_any_answer(world, kind) -> None:
    api, mcp = Api(world.keys[kind]), Mcp(world.keys[kind])
    before = everything(world)

    for verb, body in world.foreign_requests():
        over_rest = api.post(f"ask/{verb}", body).content.decode()
        over_mcp = mcp.ask("tools/call", name=verb, arguments=body).content.decode()
        for answer in (over_rest, over_mcp):
            leaks = [mark for mark in world.marks if mark in answer and mark not in str(body)]
            assert not leaks, f"{verb} {body} answers {answer}"

    assert everything(world) == before
    assert not Activity.objects.filter(kind__in=("action", "pause")).exists()


@pytest.mark.parametrize("kind", OF_ONE_SITE)
def test_what_is_another_sites_is_like_what_does_not_exist(world, kind) -> None:
    api, nowhere = Api(world.keys[kind]), "0192e4a0-7c1e-7d2a-9b3c-4d5e6f708192"

    for verb, body in world.foreign_requests():
        if verb in OFFERS[kind] and (names := {"ids", "job", "text"} & set(body)):
            (name,) = names
            unknown = {**body, name: [nowhere] if name == "ids" else nowhere}
            real, missing = (api.post(f"ask/{verb}", each).content.decode() for each in (body, unknown))
            asked = body[name][0] if name == "ids" else body[name]
            assert real.replace(str(asked), nowhere) == missing


@pytest.mark.parametrize("kind", OF_ONE_SITE)
def test_nothing_of_another_site_is_counted(world, kind) -> None:
    api = Api(world.keys[kind])

    queues = {queue["queue"]: queue for queue in api.post("ask/queue_stats").json()["queues"]}
    groups = api.post("ask/error_groups").json()["groups"]
    problems = [each for each in api.post("ask/problems").json()["problems"] if each["kind"] == "failures"]

    assert (queues["conversion"]["failed"], queues["conversion"]["ended_badly"], queues["message"]["failed"]) == (
        1,
        1,
        1,
    )
    assert [group["count"] for group in groups if group["queue"] != "cutting_job"] == [1, 1]
    assert {each["count"] for each in problems} == {1}
    assert [site["name"] for site in api.post("ask/site_health").json()["sites"]] == ["zeytin shop"]


def test_an_owner_sees_both_sites(world) -> None:
    """So the tests above would notice something."""
    api = Api(world.keys["owner"])

    answers = [api.post(f"ask/{verb}", body).content.decode() for verb, body in world.foreign_requests()]

    assert all(any(mark in answer for answer in answers) for mark in world.marks - {str(world.other.pk)})


def everything(world: AskWorld) -> list[object]:
    rows = (Conversion, world.foreign), (OutboxMessage, world.foreign_message), (Site, world.other)
    states = [model.objects.filter(pk=row.pk).values("pk", *names(model)).get() for model, row in rows]
    return [*states, QueuePause.objects.count()]


def names(model: type) -> list[str]:
    return ["is_paused", "pause_reason"] if model is Site else ["status", "updated_at"]

"""Compiled statements: the same answers as querysets, with other values at each run."""

from uuid import UUID, uuid4

import pytest
from django.db.models import CharField, F, IntegerField, Value
from django.db.models.functions import Concat

from kilit.access.models import ApiKey
from kilit.lock.audit import acting_as
from kilit.lock.compiled_moves import CompiledMove, CompiledMoveOfIds
from kilit.lock.fast_sql import CompiledQuery, parameter
from kilit.lock.models import Event
from tests.apps.parcels.models import Parcel

pytestmark = pytest.mark.django_db


def key_named(name: object) -> "CompiledQuery[ApiKey]":
    title = Concat(F("name"), Value("!"), output_field=CharField())
    return CompiledQuery(lambda: ApiKey.objects.annotate(title=title).filter(name=name).select_related("user"))


def test_a_compiled_query_finds_other_rows_with_other_values(django_user_model) -> None:
    ayse, veli = (django_user_model.objects.create(username=name) for name in ("ayse", "veli"))
    keys = [ApiKey.objects.issue(user, name=f"of {user.username}")[0] for user in (ayse, veli)]
    query = key_named(parameter("name", CharField()))

    found = [query.first(name="of ayse"), query.first(name="of veli"), query.first(name="of no one")]

    assert found == [*keys, None]
    assert [key and key.scopes for key in found[:2]] == [key.scopes for key in keys]


def test_related_rows_and_annotations_come_along(django_user_model, django_assert_num_queries) -> None:
    ApiKey.objects.issue(django_user_model.objects.create(username="ayse"), name="shop")
    query = key_named(parameter("name", CharField()))

    with django_assert_num_queries(1):
        found = query.first(name="shop")
        assert found
        username = found.user.username

    assert (username, found.title) == ("ayse", "shop!")  # type: ignore[attr-defined]


def test_nothing_of_a_row_is_kept_between_two_runs(django_user_model) -> None:
    key, _ = ApiKey.objects.issue(django_user_model.objects.create(username="ayse"), name="shop")
    query = CompiledQuery(lambda: ApiKey.objects.with_digest(parameter("digest", CharField())))
    before = query.first(digest=key.digest)

    ApiKey.objects.revoke()

    assert (before, query.first(digest=key.digest)) == (key, None)


@pytest.mark.django_db(transaction=True)
def test_threads_share_a_compiled_query(django_user_model, in_threads) -> None:
    key, _ = ApiKey.objects.issue(django_user_model.objects.create(username="ayse"), name="shop")
    query = key_named(parameter("name", CharField()))

    found = in_threads(lambda _: query.first(name="shop"), count=4)

    assert found == [key] * 4


def test_a_compiled_move_takes_other_rows_with_other_values() -> None:
    parcels = [Parcel.objects.create(attempt_count=number) for number in (1, 2)]
    rows = Parcel.objects.filter(attempt_count=parameter("number", IntegerField())).order_by("pk").select_for_update()
    move = CompiledMove(rows, "lose", {}, returning=[Parcel._meta.pk])

    taken = [move.run(number=number) for number in (2, 1, 1)]

    assert taken == [[(parcels[1].pk,)], [(parcels[0].pk,)], []]


def test_a_compiled_move_is_one_statement_whose_events_say_who_and_why(django_assert_num_queries) -> None:
    parcels = [Parcel.objects.create() for _ in range(2)]
    move = CompiledMoveOfIds(Parcel.objects.all(), "lose")
    move.run({uuid4()})

    with acting_as("operator:ayse", reason="Broken."), django_assert_num_queries(1):
        move.run({parcel.pk for parcel in parcels})

    for parcel in parcels:
        event = Event.objects.of(parcel).reverse()[0]
        assert (event.actor, event.message, event.details["verb"]) == ("operator:ayse", "Broken.", "lose")


def lost(*parcels: Parcel) -> int:
    return Event.objects.filter(to_state="LOST", object_id__in=[parcel.pk for parcel in parcels]).count()


def test_of_ids_that_all_move_none_is_read_back() -> None:
    parcels = [Parcel.objects.create() for _ in range(3)]
    ids = {parcel.pk for parcel in parcels}

    moved = CompiledMoveOfIds(Parcel.objects.all(), "lose").run(ids)

    assert moved is ids
    assert lost(*parcels) == 3


def test_of_ids_that_move_in_part_those_are_returned() -> None:
    waiting, gone, other = (Parcel.objects.create() for _ in range(3))
    Parcel.objects.filter(pk=gone.pk).move("lose")

    moved = CompiledMoveOfIds(Parcel.objects.exclude(pk=other.pk), "lose").run({waiting.pk, gone.pk, other.pk, uuid4()})

    assert moved == {waiting.pk}
    assert lost(waiting, gone, other) == 2


@pytest.mark.parametrize("ids", [set[UUID](), {uuid4()}])
def test_ids_that_do_not_move_are_not_returned(ids: set[UUID]) -> None:
    Parcel.objects.create()

    assert CompiledMoveOfIds(Parcel.objects.all(), "lose").run(ids) == set()

"""Opens doors as everyone, and says what came of it. Nothing that a request does stays."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection, transaction
from django.test import Client

from tests.support.admin_addresses import Address, hand_made
from tests.support.tenancy.doors import SAFE, Door
from tests.support.tenancy.world import World

ALLOWED, LOGIN, FORBIDDEN, NOT_FOUND, REFUSED = "yes", "login", "403", "404", "400"
OUTCOMES = {400: REFUSED, 401: LOGIN, 403: FORBIDDEN, 404: NOT_FOUND, 422: REFUSED}
FIRST_PAGE = "/admin/"
# Sessions, refusals and what the activity says of them, counted requests.
WRITTEN_BY_ALL = {"django_session", "access_deniedrequest", "lock_activity", "access_ratewindow"}
FAULT = 500
# Of members, those who may most; the others are left to the night.
BY_DAY = ("no login", "admin", "key of the site", "key of no site")
FOR_THE_REST = ("owner", "admin key")


@dataclass(frozen=True)
class Identity:
    name: str
    username: str = ""
    key: str = ""
    sees: tuple[str, ...] = ()  # whose marks may be in an answer

    def client(self) -> Client:
        client = Client(headers={"x-api-key": self.key} if self.key else {})
        if self.username:
            client.force_login(User.objects.get(username=self.username))
        return client


def people(world: World) -> list[Identity]:
    """Return who logs in: the members of one site, and those who run the installation."""
    word, every = world.own.word, ("own", "other", "house")
    return [
        Identity("no login"),
        Identity("viewer", f"{word}.viewer", sees=("own",)),
        Identity("operator", f"{word}.operator", sees=("own",)),
        Identity("admin", f"{word}.admin", sees=("own",)),
        Identity("owner", "owner", sees=every),
        Identity("superuser", "superuser", sees=every),
    ]


def keys(world: World) -> list[Identity]:
    """Return who has a key: a site, an admin of it, and a service that is an operator of no site."""
    return [
        Identity("key of the site", key=world.own.keys["site"], sees=("own",)),
        Identity("admin key", key=world.own.keys["admin"], sees=("own",)),
        Identity("key of no site", key=world.house.keys["service"]),
    ]


@dataclass(frozen=True)
class Visit:
    door: Door
    identity: Identity
    outcome: str
    leaks: frozenset[str]


def visit(world: World, doors: list[Door], identities: list[Identity]) -> list[Visit]:
    clients = {identity: identity.client() for identity in identities}
    return [_visit(world, door, identity, clients[identity]) for identity in identities for door in doors]


def visit_pages(world: World, pages: list[Door], identities: list[Identity]) -> list[Visit]:
    """Open pages; a superuser opens those that an owner may not, since Django checks no permission of theirs."""
    *others, owner, superuser = identities
    by_owner = visit(world, pages, [owner])
    refused = [each.door for each in by_owner if each.outcome != ALLOWED]
    by_superuser = {each.door: each for each in visit(world, refused, [superuser])}
    as_owner = [Visit(each.door, superuser, ALLOWED, frozenset()) for each in by_owner]
    return [*visit(world, pages, others), *by_owner, *(by_superuser.get(each.door, each) for each in as_owner)]


def visit_by_day(world: World, doors: list[Door], identities: list[Identity]) -> list[Visit]:
    """Open doors as some; what none of them may open, as those who perhaps may."""
    chosen = [identity for identity in identities if identity.name in BY_DAY]
    visits = visit(world, doors, chosen)
    opened = {each.door for each in visits if each.outcome == ALLOWED}
    rest = [door for door in doors if door not in opened and door.target != "other"]
    return [*visits, *visit(world, rest, [identity for identity in identities if identity.name in FOR_THE_REST])]


def _visit(world: World, door: Door, identity: Identity, client: Client) -> Visit:
    client.cookies.pop("messages", None)  # of the page before
    with rolled_back():
        response = send(client, door)
        if response.status_code == 405:  # a page that is only posted to
            response = client.post(door.path, {})
        content = response.getvalue().decode(errors="replace")
    text = f"{content} {response.headers}"
    assert response.status_code != FAULT, f"{door} as {identity.name}"
    return Visit(door, identity, outcome_of(response), frozenset(leaks_in(text, door, identity, world)))


def send(client: Client, door: Door) -> Any:
    if not door.body:
        return client.generic(door.method, door.path)
    if door.media == "application/json":
        return client.generic(door.method, door.path, door.body, content_type=door.media)
    fields = json.loads(door.body)
    return client.post(door.path, {**fields, "file": SimpleUploadedFile("parts.csv", fields["file"].encode())})


def outcome_of(response: Any) -> str:
    if response.status_code == 302 and "/admin/login/" in response["Location"]:
        return LOGIN
    if response.status_code == 302 and response["Location"] == FIRST_PAGE:
        return NOT_FOUND  # as Django's console answers for a row that is not there
    return OUTCOMES.get(response.status_code, ALLOWED)


def leaks_in(text: str, door: Door, identity: Identity, world: World) -> Iterator[str]:
    """Return the marks of those whom the identity must not see, but for what the request itself contains."""
    for name in ("own", "other", "house"):
        if name not in identity.sees:
            marks = getattr(world, name).marks
            yield from (mark for mark in marks if mark in text and mark not in door.request)


def changes(world: World, doors: list[Door], identities: list[Identity]) -> list[str]:
    """Send what someone with inside knowledge might send to rows of others; return the doors that let it through."""
    selected = {door.model: [door.row] for door in doors if door.model}
    found = []
    for identity in identities:
        client, is_used = identity.client(), {"access_apikey"} if identity.key else set()  # when it was used
        for door in doors:
            for post in _posts(door, selected):
                with rolled_back():
                    before = writes()
                    response = post(client)
                    if tables := {table for table, _number in writes() - before} - is_used:
                        found.append(f"{identity.name}: {door.path} ({response.status_code}) {sorted(tables)}")
    return found


def writes() -> set[tuple[str, int]]:
    """Return how many rows of each table this transaction has written; not those that any request writes."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT relname, n_tup_ins + n_tup_upd + n_tup_del FROM pg_stat_xact_user_tables")
        return {(table, number) for table, number in cursor.fetchall() if table not in WRITTEN_BY_ALL}


def _posts(door: Door, selected: dict[Any, list[Any]]) -> list[Callable[[Client], Any]]:
    if door.media or door.method not in SAFE:
        return [partial(_send_to, door)]
    page = Address(door.path, f"x_{door.name.partition(' ')[0]}", door.model, door.row)
    return [partial(_post_to, door, body) for body in hand_made(page, selected)]


def _send_to(door: Door, client: Client) -> Any:
    return send(client, door)


def _post_to(door: Door, body: dict[str, Any], client: Client) -> Any:
    return client.post(door.path, body)


@contextmanager
def rolled_back() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)

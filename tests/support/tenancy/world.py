"""Two sites with a row of everything that a site has, and what belongs to the installation.

Each has a word that stands in all its names, keys, addresses and people, so that it is recognised in any answer.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.db.models import Model
from django.utils import timezone

from kilit.access.key_scopes import KeyScope
from kilit.access.models import ApiKey, DenialCode, DeniedRequest, LoginWindow
from kilit.audit.models import Audit
from kilit.batches.models import BulkAction
from kilit.batches.run import plan_now
from kilit.console.models import SavedView
from kilit.lock.audit import acting_as, for_reason
from kilit.lock.models import Activity, Event, Pruning
from kilit.problems.models import ProblemRecord
from kilit.sites.models import SiteMembership
from ociqueue.models import (
    Adjustment,
    Circuit,
    Conversion,
    Credentials,
    Erasure,
    ImportJob,
    ReadBack,
    Site,
    UploadBatch,
    UploadSummary,
)
from ociqueue.states import SyncMethod
from orchestrator.models import BoardKind, Customer, Job, OrderDraft, RulesVersion, StockItem
from outbox.models import Attempt, Channel, Endpoint, OutboxMessage
from pdfjobs.models import PdfJob
from tests.support import cutting_jobs, pdf_jobs, stock
from tests.support.alerts import make_channel
from tests.support.conversions import make_completed, make_failed
from tests.support.erasure import adjust
from tests.support.outbox import make_failed_message
from tests.support.people import make_user
from tests.support.uploads import account, received, trip

MEMBERS = ("viewer", "operator", "admin")
OWN, OTHER, HOUSE = "zeytin", "portakal", "yerlesik"
Rows = dict[type[Model], Any]


@dataclass
class Tenant:
    word: str
    rows: Rows = field(default_factory=dict)  # one of each kind, by its id
    public_id: str = ""
    source_key: str = ""
    site_key: int = 0
    keys: dict[str, str] = field(default_factory=dict)  # the texts of API keys, by whose they are
    marks: set[str] = field(default_factory=set)  # its word and its ids, in no answer for others


@dataclass
class World:
    own: Tenant
    other: Tenant
    house: Tenant  # the installation


def make_world() -> World:
    """Make the installation first: what a site's people do is recorded after it."""
    house = _make_house()
    world = World(_make_tenant(OWN), _make_tenant(OTHER), house)
    for tenant in (world.own, world.other):
        check_rows(tenant)
    missing = [model._meta.label for model in admin.site._registry if model not in {**house.rows, **world.own.rows}]
    assert not missing, f"Make a row of {', '.join(missing)} in {__file__}."
    return world


def check_rows(tenant: Tenant) -> None:
    """Every model with a site has a row of each: otherwise its pages would be empty, and nothing could be seen."""
    for model in apps.get_models():
        if any(each.name == "site" and each.related_model is Site for each in model._meta.fields):
            rows = model._base_manager.filter(site=tenant.rows[Site])
            assert rows.exists(), f"Make a {model._meta.label} for each site in {__file__}."
            tenant.marks |= {str(pk) for pk in rows.values_list("pk", flat=True) if isinstance(pk, UUID)}
        elif any(each.name == "scope" for each in model._meta.fields) and model._meta.app_label == "outbox":
            assert model._base_manager.filter(scope=str(tenant.rows[Site])).exists(), f"Make a {model._meta.label}."


def _person(name: str, *, group: str, **columns: Any) -> User:
    return make_user(name, role=group, email=f"{name}@example.com", **columns)


def _make_tenant(word: str) -> Tenant:
    tenant = Tenant(word, source_key=f"{word}-order-1")
    site = Site.objects.create(name=f"{word} shop", default_currency="TRY", customer_id=f"{len(word):010}")
    people = {role: _person(f"{word}.{role}", group=role) for role in MEMBERS}
    for role, user in people.items():
        SiteMembership.objects.create(site=site, user=user, role=role)
    tenant.public_id = site.public_id
    tenant.keys = {"site": site.issue_key(name=f"{word} script")}
    tenant.site_key = site.keys().get().pk
    soon = timezone.now() + timedelta(days=30)
    key = ApiKey.objects.issue(people["admin"], name=f"{word} agency", scopes=[KeyScope.ADMIN], expires_at=soon)
    tenant.keys["admin"] = key[1]
    tenant.rows = {Site: site.pk, User: people["operator"].pk, ApiKey: key[0].pk}
    with acting_as(f"operator:{word}.operator"), for_reason(f"because of {word}"):
        tenant.rows |= {**_conversions(site, word), **_messages(site, word), **_people_rows(site, people, word)}
    tenant.rows[Activity] = Activity.objects.filter(scope=str(site.pk)).latest("pk").pk
    tenant.rows[Event] = Event.objects.filter(object_id=tenant.rows[Conversion]).latest("pk").pk
    tenant.marks = {word, site.public_id, str(site.pk)}
    return tenant


def _conversions(site: Site, word: str) -> Rows:
    finished = make_completed(site, source_key=f"{word}-order-1")
    adjustment = adjust(finished)
    (failed, *_others) = make_failed(site, 2, message=f"refused at {word}")
    site.sync_method = SyncMethod.DATA_MANAGER  # only a part of what a site has comes with its script
    site.save()
    batch, _rows = received(site, request_id=f"request-{word}", source_key=f"{word}-order-2")
    Site.objects.filter(pk=site.pk).update(sync_method=SyncMethod.SCRIPT)
    trip(site)
    Credentials.objects.store(site, account(customer_id=site.customer_id))
    now = timezone.now()
    ReadBack.objects.create(site=site, error=f"no answer for {word}", tried_at=now)
    numbers = {"action_id": 7, "successful": 1, "failed": 0, "pending": 0, "read_at": now}
    UploadSummary.objects.create(
        site=site, upload_date=now.date(), action_name=word, client="GOOGLE_ADS_API", **numbers
    )
    erasure = Erasure.objects.create(site=site, kind="email", rows_erased=1, rows_left=0, actor=f"admin:{word}.admin")
    assert Circuit.objects.filter(site=site).exists()
    return {
        Conversion: failed.pk,
        Adjustment: adjustment.pk,
        UploadBatch: batch.pk,
        Erasure: erasure.pk,
    }


def _messages(site: Site, word: str) -> Rows:
    url = f"https://{word}.example/hook"
    endpoint = Endpoint.objects.create(url=url, description=f"{word} store", scope=str(site.pk), kinds=[])
    message = make_failed_message(endpoint=endpoint, kind="conversion.failed", body=f'{{"site": "{word}"}}')
    Attempt.objects.create(message_id=message.pk, number=1, seconds=0.5, url=url, answer=word)
    return {Endpoint: endpoint.pk, OutboxMessage: message.pk}


def _people_rows(site: Site, people: dict[str, User], word: str) -> Rows:
    """Make what people have, and what they asked for."""
    channel = make_channel(f"{word}@example.com", name=f"{word} alerts", owner=people["admin"])
    channel.rules.create(scope=str(site.pk))
    texts = {"title": f"{word} failed", "cause": word, "where": [f"{word} shop"], "beyond": 0}
    problem = ProblemRecord.objects.create(
        reader=people["admin"], key=word, part="conversion", kind="failures", severity=2, texts={"en": texts}
    )
    asks = {"queue": "conversion", "action": "retry", "filters": {"status": "FAILED"}, "options": {}}
    bulk = plan_now(user=people["operator"], filters_text=f"site {word}", reason=f"{word} is fixed", **asks)
    file = {"file_name": f"{word}.csv", "size": 1, "kind": "conversions"}
    imported = ImportJob.objects.create(site=site, asked_by=people["operator"], **file)
    SavedView.objects.create(user=people["operator"], listed="ociqueue.conversion", name=word, query="status=FAILED")
    who = {"username": f"{word}.operator", "address": "10.0.0.1"}
    attempt = LoginWindow.objects.create(name=f"login:{word}", **who, failures=5, last_at=timezone.now())
    DeniedRequest.objects.record(
        actor=f"operator:{word}.operator", method="GET", path=f"/admin/{word}/", code=DenialCode.FORBIDDEN
    )
    return {
        Channel: channel.pk,
        ProblemRecord: problem.pk,
        BulkAction: bulk.pk,
        ImportJob: imported.pk,
        LoginWindow: attempt.pk,
        DeniedRequest: DeniedRequest.objects.latest("pk").pk,
    }


def _make_house() -> Tenant:
    """Make what has no site. PDF and cutting jobs are everyone's who may see them, and bear no mark."""
    _person("owner", group="owner")
    User.objects.create_superuser("superuser")
    service = pdf_jobs.some_user("papers")
    key = ApiKey.objects.issue(service, name=f"{HOUSE} key")[0]
    text = ApiKey.objects.issue(service, name="papers")[1]  # a key sees its own name
    now = timezone.now()
    rows: Rows = {
        PdfJob: pdf_jobs.new_job(service).pk,
        Job: cutting_jobs.make_job().pk,
        BoardKind: stock.kind_of_board(1).pk,
        StockItem: stock.offcut().pk,
        Customer: Customer.objects.create(phone="+905551112233", name="Ayşe").pk,
        OrderDraft: OrderDraft.objects.create(
            order_id="S-9", created_by="operator:stranger", content={"unit": "mm", "fields": {}, "rows": []}
        ).pk,
        RulesVersion: RulesVersion.objects.create(content="{}", sha256="0" * 64, reason="x", actor="admin:owner").pk,
        Audit: Audit.objects.create(first_event=0, last_event=0, finished_at=now).pk,
        Pruning: Pruning.objects.create(queue="conversion", rows=1, events=1, states={}, oldest=now, newest=now).pk,
        Group: Group.objects.create(name=f"{HOUSE} group").pk,
        ApiKey: key.pk,
        User: _person(f"{HOUSE}.person", group="operator").pk,
        **_house_messages(),
    }
    return Tenant(HOUSE, rows=rows, keys={"service": text}, marks={HOUSE})


def _house_messages() -> Rows:
    url = f"https://{HOUSE}.example/hook"
    with acting_as("admin:owner"), for_reason(f"because of {HOUSE}"):
        endpoint = Endpoint.objects.create(url=url, description=f"{HOUSE} store", kinds=[])
        message = make_failed_message(endpoint=endpoint, kind="pdf.failed")
    channel = make_channel(f"{HOUSE}@example.com", name=f"{HOUSE} alerts", owner=None)
    event = Event.objects.filter(object_id=message.pk).latest("pk")
    return {Endpoint: endpoint.pk, OutboxMessage: message.pk, Channel: channel.pk, Event: event.pk}


def tenants(world: World) -> Iterator[tuple[str, Tenant]]:
    yield "own", world.own
    yield "other", world.other
    yield "house", world.house

"""The world of a run: a folder of its own, an environment of its own, and what clients have to know."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

from simulators.webhooks.receiver import WebhookReceiver
from tests.support.commands import fresh_environment
from tests.system.chaos.clients import KNOWN, conversion, order, pdf
from tests.system.chaos.stage import ROOT

SECRET = "whsec_Y2hhb3MgY2hhb3MgY2hhb3MgY2hhb3MgY2hhb3M="
DISK = "size=12m,mode=0755"
# A run has no twenty minutes for a solution that never comes, nor five for a saw that does not answer.
IMPATIENT = {"retry_count_max": 3, "retry_backoff_minutes": [0.02, 0.05, 0.1]}
LONGEST_WAITS = {"optiXmlMinutes": 0.6, "osiAckMinutes": 0.4}


def environment(folder: Path, *, port: int, settings: str, google: dict[str, str]) -> dict[str, str]:
    """Return the environment of every process of the run; nothing of the shell's own gets in."""
    floor = folder / "floor"  # not below KILIT_VAR: the product makes no folders of a factory
    playing = [sys.executable, str(ROOT / "simulators" / "optiplanning" / "play.py"), "--export"]
    return fresh_environment(
        DJANGO_SETTINGS_MODULE=settings,
        KILIT_VAR=str(folder / "var"),
        KILIT_FLOOR=str(floor),
        CHAOS_FOLDER=str(folder),
        SECRET_KEY="chaos",
        PORT=str(port),
        WEB_CONCURRENCY="1",
        KILIT_WORKERS="1",
        KILIT_TASK_TIMEOUT="75",
        KILIT_GOOGLE_ADS_TIMEOUT="5",
        KILIT_FLOOR_POLL="1",
        KILIT_OPTI_RULES=str(folder / "rules.json"),
        KILIT_RATE_PER_MINUTE="1000000",
        KILIT_LOG_LEVEL="WARNING",
        KILIT_WEBHOOK_PRIVATE_ADDRESSES="127.0.0.0/8",
        KILIT_OPTI_COMMAND=json.dumps([*playing, str(floor / "export")]),
        PYTHONUNBUFFERED="1",
        **google,
    )


def mount_disks(folder: Path) -> list[Path]:
    """Mount small file systems where documents and the floor's files lie; none where that is not allowed.

    The run has a mount namespace of its own, so that they are gone with its last process, however it ends.
    """
    disks = [folder / "var" / "artifacts", folder / "floor"]
    may_mount = os.environ.get("CHAOS_OWN_MOUNTS") == "1"
    for disk in disks:
        disk.mkdir(parents=True)
        if may_mount:
            subprocess.run(["mount", "-t", "tmpfs", "-o", DISK, "tmpfs", str(disk)], check=True)
    for name in ("import", "export", "saw/inbox", "saw/processed", "saw/failed"):
        (folder / "floor" / name).mkdir(parents=True)
    return disks if may_mount else []


def unmount(disks: list[Path]) -> None:
    """Let the small file systems go, so that the folder of the run can be deleted."""
    for disk in disks:
        subprocess.run(["umount", "--lazy", str(disk)], check=False)


def furnish(folder: Path, *, seed: int, port: int, seconds: float, receiver: WebhookReceiver) -> dict[str, Any]:
    """Make database, sites, people and keys, and write down what clients need to know."""
    from django.contrib.auth.models import Group, User
    from django.core.management import call_command

    from kilit.access.models import ApiKey
    from kilit.access.roles import Role
    from ociqueue.demo import DEMO_ACCOUNT
    from ociqueue.models import Credentials, Site
    from ociqueue.states import SyncMethod
    from orchestrator.models import Customer
    from pdfjobs.documents import documents
    from tests.support.fast_migrations import skip_needless_rendering

    skip_needless_rendering()
    call_command("migrate", verbosity=0, interactive=False)
    service = User.objects.create_user("chaos-service")
    service.groups.set(Group.objects.filter(name=Role.OPERATOR))
    User.objects.create_superuser("demo-admin")
    Customer.objects.create(phone=KNOWN, name="Ege Mobilya")
    sites = {
        "script_site": Site.objects.create(name="Script", default_currency="TRY"),
        "api_site": Site.objects.create(
            name="API", default_currency="TRY", sync_method=SyncMethod.API, accepts_identifiers=True
        ),
        "data_manager_site": Site.objects.create(
            name="Data Manager",
            default_currency="TRY",
            sync_method=SyncMethod.DATA_MANAGER,
            accepts_identifiers=True,
        ),
    }
    for name in ("api_site", "data_manager_site"):
        Credentials.objects.store(sites[name], DEMO_ACCOUNT)
    subscribe(receiver, str(sites["script_site"].pk))
    world: dict[str, Any] = {
        "seed": seed,
        "port": port,
        "service_key": ApiKey.objects.issue(service, name="chaos")[1],
        # Labels set their page themselves, and clients make documents differ by their margins.
        "documents": [
            {"template_name": known.name, "variables": known.sample} for known in documents() if known.name != "labels"
        ],
        "most_pdfs": round(seconds / 2),
        "most_orders": round(seconds / 6),
        **{
            name: {"public_id": site.public_id, "api_key": site.issue_key(name="chaos")} for name, site in sites.items()
        },
    }
    rules = json.loads((ROOT / "orchestrator" / "rules.json").read_text())
    # A short run has less patience, but enough for a machine that is busy with other tests.
    patience = min(max(seconds / 30, 0.4), 1)
    waits = {name: minutes * patience for name, minutes in LONGEST_WAITS.items()}
    (folder / "rules.json").write_text(json.dumps({**rules, **IMPATIENT, "timeouts": waits, "stock": {}}))
    (folder / "ledger").mkdir()
    (folder / "logs").mkdir()
    (folder / "world.json").write_text(json.dumps(world))
    fill_the_store()
    heap_up(world, sites, service, rng=random.Random(seed), seconds=seconds)
    return world


def fill_the_store() -> None:
    """Bring few boards and offcuts of what clients order, so that plans compete for them."""
    from orchestrator.models import BoardKind, StockItem
    from orchestrator.workflow import stock

    of_orders = {"material_code": "MDF-18-BYZ", "color": "Beyaz", "thickness_mm": 18}
    kind = BoardKind.objects.create(**of_orders, length_mm=2800, width_mm=2100, place="R1", least=2)
    stock.receive(kind, 4, expected=0)
    for length in (1300, 900):
        StockItem(**of_orders, length_mm=length, width_mm=800, place="R2").save()


def subscribe(receiver: WebhookReceiver, site: str) -> None:
    """Make two endpoints that listen to everything: the installation's, and a site's."""
    from kilit.access.encryption import encrypt
    from kilit.api.webhooks import webhook_kinds
    from outbox.models import Endpoint

    for scope, path in {"": "all", site: "site"}.items():
        address, secret = f"{receiver.url}/{path}", encrypt(SECRET)
        Endpoint.objects.create(scope=scope, url=address, kinds=sorted(webhook_kinds), encrypted_secret=secret)


def log_in() -> str:
    """Return the session of somebody who may see and do everything."""
    from django.contrib.auth.models import User
    from django.test import Client

    client = Client()
    client.force_login(User.objects.get(username="demo-admin"))
    return client.cookies["sessionid"].value


def heap_up(world: dict[str, Any], sites: dict[str, Any], service: Any, *, rng: random.Random, seconds: float) -> None:
    """Bring rows before the storm, however slow the machine is: many reach for the same ones from its first moment."""
    from ociqueue.intake.enqueue import enqueue as enqueue_conversions
    from orchestrator.orders.enqueue import enqueue as enqueue_order
    from orchestrator.orders.order import read_order
    from pdfjobs.enqueue import enqueue as enqueue_document
    from pdfjobs.job_request import parse_job_request

    for name, site in sites.items():
        enqueue_conversions(site, [conversion(rng, name) for _ in range(round(seconds * 5))])
    for _ in range(round(seconds / 5)):
        enqueue_document(service, parse_job_request(pdf(world, rng)))
    for number in range(round(seconds / 8)):
        body = order(rng, number)
        if number == 0:  # an operator has to ask at the saw, which takes as long as its limit
            body |= {"opti_mode": "A", "customer_phone": KNOWN, "priority": "urgent"}
            body["parts"][0]["desc1"] = "sim:saw-lost"
        enqueue_order(read_order(body, default_mode="C"))

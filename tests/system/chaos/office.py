"""What people do with rows that have ended, and with orders and the store: correct, erase, type drafts, print, cut."""

import json
import random
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.contrib.auth.models import User

from config.papers.console import request_pdf
from kilit.lock.audit import acting_as
from kilit.lock.identity import uuid7
from ociqueue.intake.corrections import Correction, replace_rows
from ociqueue.models import Conversion, IdentifierKind, Site
from ociqueue.operating.erasure import Person, forget
from orchestrator.drafts.sending import save_draft, send_draft
from orchestrator.models import BoardKind, Job, StockItem
from orchestrator.planning.rules import current_rules, rules_path
from orchestrator.workflow import stock
from orchestrator.workflow.by_hand import boards_of, cut_by_hand
from tests.system.chaos.clients import Client, order, person

PAPERS = ("cutting_sheet", "labels")


def correct_some(rng: random.Random, _: Any) -> None:
    """Send corrected copies of failed conversions, with another click id."""
    site = rng.choice(list(Site.objects.all()))
    failed = Conversion.objects.for_site(site).filter(status="FAILED", is_replaced=False).order_by("?")
    corrections = [Correction(str(row), {"gclid": f"click-{uuid4()}"}) for row in failed[: rng.randint(1, 4)]]
    list(replace_rows(site, corrections))


def forget_someone(rng: random.Random, service: Client) -> None:
    """Erase a person; what has not ended stays, and is erased when somebody asks again."""
    address = person(rng)
    service.ledger.note("forgotten", ids=[address])
    erase(address)


def erase(address: str) -> None:
    """Erase a person at every site."""
    list(forget(Person(IdentifierKind.EMAIL, address), list(Site.objects.all())))


def send_a_draft(rng: random.Random, service: Client) -> None:
    """Type an order, save it, and click twice on Send."""
    body = order(rng, rng.randrange(100))
    (part,) = body["parts"]
    sizes = {"length": part.pop("length_cm"), "width": part.pop("width_cm")}
    row = {name: str(value) for name, value in {**part, **sizes}.items()}
    fields = {name: body[name] for name in ("order_id", "customer_phone", "opti_mode")}
    draft, _ = save_draft(uuid7(), {"unit": "cm", "fields": fields, "rows": [row]}, based_on=None)
    for _ in range(2):
        job, _ = send_draft(draft.pk, current_rules())
        service.ledger.note("made", queue="cutting_job", ids=[str(job.pk)])


def print_a_paper(rng: random.Random, service: Client) -> None:
    """Print what belongs to an order."""
    job = Job.objects.select_related("customer").order_by("?").first()
    if job:
        made = request_pdf(User.objects.get(username="demo-admin"), job, rng.choice(PAPERS), {})
        service.ledger.note("made", queue="pdf", ids=[str(made.pk)])


def ask_at_the_saw(rng: random.Random, service: Client) -> None:
    """Say what became of files that left the saw's inbox without a trace: it was cut, or hand it over again."""
    for pk in Job.objects.of_unknown_handover().values_list("pk", flat=True):
        verb = rng.choice(["confirm-cut", "hand-over"])
        service.ask("POST", f"/jobs/{pk}/{verb}", {"reason": "chaos"})


def change_rules(path: Path, **entries: Any) -> None:
    """Change some of the rules at once: processes read them at every moment."""
    changed = path.with_suffix(".new")
    changed.write_text(json.dumps({**json.loads(path.read_text()), **entries}))
    changed.replace(path)


def decide_who_cuts(rng: random.Random, _: Any) -> None:
    """Let people cut what is planned now, or leave it to the saw."""
    change_rules(rules_path(), cutBy="hand" if rng.random() < 0.3 else "saw")


def cut_some(rng: random.Random, service: Client) -> None:
    """Cut the boards of orders that no saw takes, all or the first of them; cancel a few."""
    for job in Job.objects.with_people().order_by("?")[:3]:
        if rng.random() < 0.3 and not job.boards_cut:
            service.ask("POST", f"/jobs/{job.pk}/cancel", {"reason": "chaos"})
        else:
            boards = rng.randint(max(1, job.boards_cut), max(boards_of(job), job.boards_cut))
            service.ask("POST", f"/jobs/{job.pk}/cut-by-hand", {"by": "Mehmet", "boards": boards})


def cut_the_rest() -> None:
    """Cut all that waits for people."""
    for pk in Job.objects.with_people().values_list("pk", flat=True):
        with acting_as("operator:chaos"):
            cut_by_hand(pk)


def keep_the_store(rng: random.Random, _: Any) -> None:
    """Receive boards, take some out, count them wrongly, and undo what was taken out or booked."""
    kind = BoardKind.objects.get()
    on_hand = StockItem.objects.filter(board=kind).on_hand().count()
    gone = StockItem.objects.filter(status__in=["SCRAPPED", "USED"]).order_by("?").first()
    match rng.choice(["receive", "take out", "count", "undo"]):
        case "receive":
            stock.receive(kind, rng.randint(1, 3), expected=on_hand)
        case "take out":
            stock.take_out(kind, 1, expected=on_hand)
        case "count":
            stock.count(kind, max(0, on_hand + rng.choice([-1, 1])), expected=on_hand)
        case "undo" if gone:
            gone.move("restore" if gone.status == "SCRAPPED" else "put_back", job=None)

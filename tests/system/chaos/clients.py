"""Clients over HTTP, each a process that may be killed: a producer of jobs, and scripts that export and acknowledge.

Requests and replies go into the ledger; a request without an answer is sent again, as
a careful integrator does.
"""

import http.client
import json
import os
import random
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

from kilit.workers.processes import die_with_parent
from tests.system.chaos.ledger import Ledger

NO_ANSWER = 0
BOUNDARY = "chaos"
FORM = f"multipart/form-data; boundary={BOUNDARY}"
KNOWN, STRANGER = "+905321112233", "+905360001122"
SITES = ["script_site", "api_site", "data_manager_site"]
# What becomes of a tenth of the conversions at Google.
FATES = {
    "api_site": ["FAIL-UNPARSEABLE_GCLID", "FAIL-EXPIRED_EVENT"],
    "data_manager_site": ["REFUSE-INVALID_FORMAT", "REFUSE-UNNAMED", "FAIL-CLICK_NOT_FOUND", "FAIL-TOO_RECENT_CLICK"],
}
# What becomes of an order at OptiPlanning and at the saw; most go well.
WISHES = ["", "", "", "", "sim:half", "sim:saw-failed", "sim:saw-lost", "sim:crash", "sim:invalid"]
PEOPLE = 200
CLEAR = "@chaos.example"  # what addresses end in; nothing that is stored or sent contains it
CSV_COLUMNS = {
    "id": "Part id",
    "part_type": "Part type",
    "material_code": "Material code",
    "length_cm": "Length (cm)",
    "width_cm": "Width (cm)",
    "quantity": "Quantity",
    "grain": "Grain",
    "color": "Color",
    "thickness_mm": "Thickness (mm)",
    "desc1": "Note",
}


class Client:
    """Speaks to the web server of the run, and does not mind when it is away."""

    def __init__(self, world: dict[str, Any], key: str, ledger: Ledger) -> None:
        """Open a new connection for each request: servers come and go here."""
        self.port, self.ledger = world["port"], ledger
        self.headers = {"X-API-Key": key}

    def ask(self, method: str, path: str, body: Any = None, *, media: str = "application/json") -> tuple[int, Any]:
        """Return the status and the answer; 0 when nobody answered."""
        headers = {**self.headers, "Content-Type": media, "Connection": "close"}
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request(method, path, content, headers)
            answer = connection.getresponse()
            text = answer.read()
            status = answer.status
            reply = json.loads(text) if text and "json" in answer.headers.get("Content-Type", "") else None
        except (OSError, http.client.HTTPException, ValueError) as error:
            status, reply = NO_ANSWER, None
            self.ledger.note("unanswered", error=type(error).__name__)
        finally:
            connection.close()
        if status >= 500:
            self.ledger.note("refused", path=path.partition("?")[0], status=status, reply=reply)
        return status, reply


def produce(world: dict[str, Any], rng: random.Random, ledger: Ledger) -> Callable[[], None]:
    """Return the producer's turn: conversions for each site, now and then a PDF or an order."""
    clients = {site: Client(world, world[site]["api_key"], ledger) for site in SITES}
    service = Client(world, world["service_key"], ledger)
    left = {"pdf": world["most_pdfs"], "order": world["most_orders"]}
    again: list[tuple[Callable[..., bool], Any]] = []

    def conversions(asked: tuple[str, list[dict[str, Any]]]) -> bool:
        site, items = asked
        body = {"siteId": world[site]["public_id"], "conversions": items}
        status, reply = clients[site].ask("POST", "/api/oci/conversions", body)
        if status == 200:
            keys = [items[result["index"]]["sourceKey"] for result in reply["results"] if result.get("id")]
            people = {item["sourceKey"]: item["email"] for item in items if "email" in item}
            ledger.note("made", queue="conversion", ids=keys, people=people)
        return status == 200

    def job(asked: tuple[str, str, Any]) -> bool:
        queue, path, body = asked
        media = FORM if isinstance(body, bytes) else "application/json"
        status, reply = service.ask("POST", path, body, media=media)
        if status in (200, 201, 202):
            found = reply.get("job_id") or reply.get("job", {}).get("id")
            ledger.note("made", queue=queue, ids=[found])
        if 400 <= status < 429:
            ledger.note("mistaken", path=path, status=status, reply=reply)
        return status in (200, 201, 202)

    def turn() -> None:
        todo = again[:]
        again.clear()
        site = rng.choice(SITES)
        todo.append((conversions, (site, [conversion(rng, site) for _ in range(rng.randint(1, 6))])))
        if (rng.random() < 0.35 or left["pdf"] == world["most_pdfs"]) and left["pdf"]:
            left["pdf"] -= 1
            todo.append((job, ("pdf", "/pdf/jobs", pdf(world, rng))))
        if (rng.random() < 0.25 or left["order"] == world["most_orders"]) and left["order"]:
            is_sheet = (world["most_orders"] - left["order"]) % 3 == 0
            left["order"] -= 1
            make, path = (sheet, "/jobs/import") if is_sheet else (order, "/jobs")
            todo.append((job, ("cutting_job", path, make(rng, left["order"]))))
        again.extend((send, asked) for send, asked in todo if not send(asked))
        time.sleep(rng.uniform(0.2, 0.8))

    return turn


def conversion(rng: random.Random, site: str) -> dict[str, Any]:
    """Return a conversion with a source key of its own; some of those for Google it will refuse."""
    fate = rng.choice(FATES.get(site, ["click"])) if rng.random() < 0.1 else "click"
    who = {"gclid": f"{fate}-{uuid4()}"}
    if site in FATES and rng.random() < 0.2:  # with an address, and half of these without a click id
        who = {"email": person(rng), **(who if rng.random() < 0.5 else {})}
    return {
        "conversionName": "Satış",
        **who,
        "conversionTime": (datetime.now(UTC) - timedelta(hours=1)).isoformat(),
        "conversionValue": rng.randint(1, 500),
        "sourceKey": str(uuid4()),
    }


def person(rng: random.Random) -> str:
    """Return the address of one of a few people."""
    return f"person-{rng.randrange(PEOPLE)}{CLEAR}"


def pdf(world: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Return a document; its margin makes it another one, or now and then the same as before."""
    margin = {"margin": {"top": rng.randint(5, 40)}}
    return {**rng.choice(world["documents"]), "options": {**margin, "timeout": 20, "fail_safe": "strict"}}


def order(rng: random.Random, number: int) -> dict[str, Any]:
    """Return an order; some wait for a person: of a stranger, or started by the operator. Some need no OptiPlanning."""
    part: dict[str, Any] = {
        "id": "p1",
        "part_type": "GOVDE",
        "material_code": "MDF-18-BYZ",
        "length_cm": 60 + number % 50,
        "width_cm": 35,
        "quantity": 1 + number % 3,
        "grain": 0,
        "color": "Beyaz",
        "thickness_mm": 18,
    }
    if wish := rng.choice(WISHES):
        part["desc1"] = wish
    phone = STRANGER if rng.random() < 0.1 else KNOWN
    (mode,) = rng.choices("ACD", (8, 1, 1))
    if mode == "D":  # of two or three boards, which people may cut one by one
        part["quantity"] *= 14
    return {"order_id": f"CHAOS-{uuid4()}", "customer_phone": phone, "opti_mode": mode, "parts": [part]}


def sheet(rng: random.Random, number: int) -> bytes:
    """Return an order as a CSV file in a form."""
    body = order(rng, number)
    (part,) = body["parts"]
    head = {"Order id": body["order_id"], "Customer phone": body["customer_phone"], "Mode": body["opti_mode"]}
    lines = [*head.items(), (), tuple(CSV_COLUMNS.values()), tuple(part.get(name, "") for name in CSV_COLUMNS)]
    text = "\r\n".join(";".join(map(str, line)) for line in lines)
    about = 'Content-Disposition: form-data; name="file"; filename="order.csv"\r\nContent-Type: text/csv'
    return f"--{BOUNDARY}\r\n{about}\r\n\r\n{text}\r\n--{BOUNDARY}--\r\n".encode()


def script(world: dict[str, Any], rng: random.Random, ledger: Ledger) -> Callable[[], None]:
    """Return a script's turn: export, then acknowledge most of it, fail some, and forget the rest."""
    client = Client(world, world["script_site"]["api_key"], ledger)

    def turn() -> None:
        # Two runs of a script overlap, as they do when a clock starts the next before the last has ended.
        limit = rng.randint(1, 10)
        with ThreadPoolExecutor(2) as both:
            reply = list(both.map(lambda _: export(world, client, limit=limit), range(2)))
        handed = [row for rows in reply for row in rows]
        time.sleep(rng.uniform(0.0, 0.5))
        good = [row for row in handed if rng.random() < 0.8]
        bad = [row for row in handed if row not in good and rng.random() < 0.7]
        ack(world, client, good)
        ack_failed(world, client, bad)
        time.sleep(rng.uniform(0.1, 0.6))

    return turn


def export(world: dict[str, Any], client: Client, *, limit: int) -> list[str]:
    """Claim rows, and note which this script was handed."""
    site = world["script_site"]["public_id"]
    path = f"/api/oci/google-ads-export?siteId={site}&limit={limit}&markAsExported=true"
    status, reply = client.ask("GET", path)
    handed = [item["id"] for item in reply] if status == 200 else []
    if handed:
        client.ledger.note("handed", ids=handed)
    return handed


def ack(world: dict[str, Any], client: Client, ids: list[str]) -> None:
    """Acknowledge rows, noted before they are: whoever is killed in between has said it."""
    if ids:
        client.ledger.note("acked", ids=ids)
        client.ask("POST", "/api/oci/ack", {"siteId": world["script_site"]["public_id"], "queueIds": ids})


def ack_failed(world: dict[str, Any], client: Client, ids: list[str]) -> None:
    """Say that rows could not be uploaded."""
    if ids:
        why = {"errorCode": "INVALID_GCLID", "errorCategory": "VALIDATION", "errorMessage": "bad"}
        client.ask("POST", "/api/oci/ack-failed", {"siteId": world["script_site"]["public_id"], "queueIds": ids, **why})


def main(role: str) -> None:
    """Take turns until killed."""
    die_with_parent()
    folder = Path(os.environ["CHAOS_FOLDER"])
    world = json.loads((folder / "world.json").read_text())
    name = os.environ["CHAOS_NAME"]
    ledger = Ledger(folder / "ledger", name)
    # One that is started again does not repeat itself.
    rng = random.Random(f"{world['seed']} {name} {os.fstat(ledger.file).st_size}")
    turn = {"producer": produce, "script": script}[role](world, rng, ledger)
    while True:
        turn()


if __name__ == "__main__":
    main(sys.argv[1])

"""The crowd of a load: each client mixes all endpoints of all three queues, and what people open in the console."""

import random
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.system.chaos.clients import NO_ANSWER, Client, ack, ack_failed, conversion, export, order, pdf
from tests.system.chaos.ledger import Ledger

BY_KEY = [
    *("/pdf/templates", "/jobs?limit=20", "/jobs?limit=20&state=FAILED", "/customers/lookup?phone=%2B905321112233"),
    *("/customers/lookup?phone=x", "/healthz", "/readyz", "/metrics", "/api/schema/"),
]
BY_SESSION = [
    *("/admin/", "/admin/ociqueue/conversion/", "/admin/pdfjobs/pdfjob/", "/admin/orchestrator/job/", "/api/docs/"),
    "/api/oci/queue-stats?scope=multi",
]
CRON = ["recover-processing", "attempt-cap", "upload", "process-offline-conversions"]
LAST = 50  # jobs of its own that a client still asks about
ID = "{id}"


class Crowd:
    """What all clients met."""

    def __init__(self, world: dict[str, Any], folder: Path, *, cron_secret: str, session: str) -> None:
        """Count from nothing."""
        self.world, self.ledgers = world, folder / "ledger"
        self.cron_secret, self.session = cron_secret, session
        self.answers: Counter[tuple[str, int]] = Counter()
        self.over = threading.Event()

    def join(self, number: int) -> None:
        """Be one client until it is over."""
        one = One(self, number)
        turns, weights = zip(*MIX.items(), strict=True)
        try:
            while not self.over.is_set():
                one.rng.choices(turns, weights)[0](one)
        except Exception:
            self.answers["a client did not understand", NO_ANSWER] += 1
            raise


class RecordingClient(Client):
    """A client whose answers are counted, by the address without its ids."""

    def __init__(self, crowd: Crowd, ledger: Ledger, **headers: str) -> None:
        """Count for a crowd."""
        super().__init__(crowd.world, "", ledger)
        self.crowd, self.headers = crowd, headers

    def ask(
        self, method: str, path: str, body: Any = None, *, media: str = "application/json", name: str = ""
    ) -> tuple[int, Any]:
        """Ask, and count the answer."""
        status, reply = super().ask(method, path, body, media=media)
        self.crowd.answers[f"{method} {name or path.partition('?')[0]}", status] += 1
        return status, reply


class One:
    """One client of the crowd: a script, a backend, a person and a clock by turns."""

    def __init__(self, crowd: Crowd, number: int) -> None:
        """Take keys."""
        self.crowd, self.world, self.rng = crowd, crowd.world, random.Random(number)
        self.site = self.world["script_site"]["public_id"]
        self.ledger = Ledger(crowd.ledgers, f"client-{number}")
        self.script = RecordingClient(crowd, self.ledger, **{"X-API-Key": self.world["script_site"]["api_key"]})
        self.service = RecordingClient(crowd, self.ledger, **{"X-API-Key": self.world["service_key"]})
        csrf = uuid4().hex
        cookies = f"sessionid={crowd.session}; csrftoken={csrf}"
        self.person = RecordingClient(crowd, self.ledger, **{"Cookie": cookies, "X-CSRFToken": csrf})
        self.clock = RecordingClient(crowd, self.ledger, Authorization=f"Bearer {crowd.cron_secret}")
        self.documents: list[str] = []
        self.orders: list[str] = []

    def bring(self) -> None:
        """Bring conversions, and note those that were taken."""
        items = [conversion(self.rng, "script_site") for _ in range(self.rng.randint(1, 10))]
        status, reply = self.script.ask("POST", "/api/oci/conversions", {"siteId": self.site, "conversions": items})
        if status == 200:
            keys = [items[result["index"]]["sourceKey"] for result in reply["results"] if result.get("id")]
            self.ledger.note("made", queue="conversion", ids=keys)

    def send(self) -> None:
        """Export and acknowledge, or fail some."""
        handed = export(self.world, self.script, limit=self.rng.randint(1, 20))
        bad = [row for row in handed if self.rng.random() < 0.1]
        ack(self.world, self.script, [row for row in handed if row not in bad])
        ack_failed(self.world, self.script, bad)

    def shake_hands(self) -> None:
        """Trade the key for a token."""
        self.script.ask("POST", "/api/oci/v2/verify", {"siteId": self.site})

    def order_document(self) -> None:
        """Ask for a document."""
        status, reply = self.service.ask("POST", "/pdf/jobs", pdf(self.world, self.rng))
        if status in (200, 201, 202):
            self.documents = [*self.documents, reply["job_id"]][-LAST:]
            self.ledger.note("made", queue="pdf", ids=[reply["job_id"]])

    def look_at_document(self) -> None:
        """Ask how far a document is, or for its file."""
        if self.documents:
            path, job = self.rng.choice(["/pdf/jobs/{id}", "/pdf/jobs/{id}/download"]), self.rng.choice(self.documents)
            self.service.ask("GET", path.replace(ID, job), name=path)

    def order_panels(self) -> None:
        """Bring an order."""
        status, reply = self.service.ask("POST", "/jobs", order(self.rng, self.rng.randrange(1000)))
        if status in (200, 201, 202):
            self.orders = [*self.orders, reply["job"]["id"]][-LAST:]
            self.ledger.note("made", queue="cutting_job", ids=[reply["job"]["id"]])

    def look_at_order(self) -> None:
        """Ask how far an order is, or decide about it; most decisions are refused."""
        if self.orders:
            method, path = self.rng.choice(ABOUT_ORDER)
            body = {"reason": "load"} if method == "POST" else None
            self.service.ask(method, path.replace(ID, self.rng.choice(self.orders)), body, name=path)

    def add_customer(self) -> None:
        """Add a customer, or one that is known."""
        phone = f"+90532{self.rng.randrange(2000):07d}"
        self.service.ask("POST", "/customers", {"phone": phone, "name": "Ege Mobilya"})

    def act(self) -> None:
        """Look at rows as an operator, and act on some."""
        asked = f"/api/oci/queue-rows?siteId={self.site}&limit=20"
        status, reply = self.person.ask("GET", f"{asked}&status={self.rng.choice(['FAILED', 'QUEUED', 'PROCESSING'])}")
        ids = [row["id"] for row in reply["rows"]] if status == 200 else []
        self.person.ask("GET", f"/api/oci/queue-stats?siteId={self.site}")
        if ids and self.rng.random() < 0.3:
            action = self.rng.choice(["RETRY_SELECTED", "RESET_TO_QUEUED", "MARK_FAILED"])
            body = {"siteId": self.site, "action": action, "ids": ids[:3], "reason": "load"}
            self.person.ask("POST", "/api/oci/queue-actions", body)

    def read(self) -> None:
        """Read what a key opens."""
        self.service.ask("GET", self.rng.choice(BY_KEY))

    def look(self) -> None:
        """Read what a person opens."""
        self.person.ask("GET", self.rng.choice(BY_SESSION))

    def tick(self) -> None:
        """Run a sweep from outside."""
        self.clock.ask("POST", f"/api/cron/oci/{self.rng.choice(CRON)}")


ABOUT_ORDER = [
    *(("GET", "/jobs/{id}"), ("GET", "/jobs/{id}"), ("GET", "/jobs/{id}/xml")),
    *(("POST", "/jobs/{id}/retry"), ("POST", "/jobs/{id}/approve"), ("POST", "/jobs/{id}/cancel")),
]
# How likely each is, relative to the others.
MIX: dict[Callable[[One], None], int] = {
    One.bring: 28,
    One.send: 18,
    One.shake_hands: 2,
    One.order_document: 2,
    One.look_at_document: 8,
    One.order_panels: 3,
    One.look_at_order: 8,
    One.add_customer: 2,
    One.act: 5,
    One.read: 16,
    One.look: 6,
    One.tick: 2,
}

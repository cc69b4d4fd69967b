"""Links to one order that need no login: for its customer, and on the labels of its pieces.

A token is signed, not stored: it names the job and the number of the link. It works until the link is withdrawn; the
next link of the job has another number.
"""

from dataclasses import dataclass
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.core.signing import Signer, b64_decode, b64_encode
from django.db import transaction
from django.db.models import F
from django.urls import reverse
from django.utils.translation import gettext as _

from kilit.lock.audit import current_context
from kilit.lock.models import Activity, ActivityKind, Event
from orchestrator import sentences
from orchestrator.models import Job
from orchestrator.schemas.rules import Rules
from orchestrator.states import JOBS

ID_LENGTH = 22  # of a job's id in a token, which is short so that its QR code has large modules


class WithdrawnLink(Exception):
    """We signed the link, and someone has withdrawn it."""


@dataclass(frozen=True)
class JobLink:
    column: str  # of the job: the number of its last link, below 0 if it is withdrawn
    route: str  # of its page
    created: str
    withdrawn: str

    def create(self, job: Job, **columns: bool) -> bool:
        """Make a link, with what its page may show; False if there is one."""
        return self._change(job, self.created, is_on=False, number=1 - F(self.column), **columns)

    def withdraw(self, job: Job) -> bool:
        return self._change(job, self.withdrawn, is_on=True, number=-F(self.column))

    def number_of(self, job: Job) -> int:
        number: int = getattr(job, self.column)
        return number

    def token_of(self, job: Job) -> str:
        """Return the token of the job's link, or "" if it has none."""
        number = self.number_of(job)
        return self._signer().sign(f"{b64_encode(job.pk.bytes).decode()}{number}") if number > 0 else ""

    def url_of(self, job: Job, *place: int) -> str:
        """Return the address of the link's page, or "" if it has none."""
        token = self.token_of(job)
        return f"{settings.PUBLIC_URL}{reverse(self.route, args=[token, *place])}" if token else ""

    def job_of(self, token: str, *fields: str) -> Job:
        """Return the job of a link with these fields; BadSignature if we did not sign its token."""
        signed = self._signer().unsign(token)
        pk, number = UUID(bytes=b64_decode(signed[:ID_LENGTH].encode())), int(signed[ID_LENGTH:])
        jobs = Job.objects.filter(pk=pk, **{self.column: number, f"{self.column}__gt": 0})
        job = jobs.only("order_id", "status", "error_code", *fields).first()
        if job is None:
            raise WithdrawnLink
        return job

    def _change(self, job: Job, event: str, *, is_on: bool, number: object, **columns: bool) -> bool:
        """Record who changed the link; False if someone did it before."""
        rows = Job.objects.filter(pk=job.pk, **{f"{self.column}__{'gt' if is_on else 'lte'}": 0})
        with transaction.atomic():
            if is_changed := bool(rows.update(**{self.column: number}, **columns)):
                message = current_context().reason or (sentences.LINK_WITHDRAWN if is_on else sentences.LINK_MADE)
                Event.objects.record(job, event, message=message)
                Activity.objects.record(ActivityKind.ACTION, event, queue=JOBS.queue, object_id=str(job.pk))
        job.refresh_from_db(fields=[self.column, *columns])
        return is_changed

    def _signer(self) -> Signer:
        return Signer(salt=f"orchestrator.{self.column}", sep=".")


def reaches_customers() -> bool:
    """Return whether people outside the shop reach this server, and nobody reads along."""
    return bool(settings.PUBLIC_URL.startswith("https://"))


def reaches_phones() -> bool:
    """Return whether a phone in the shop can open the address that labels have: not that of the machine itself."""
    host = urlsplit(settings.PUBLIC_URL).hostname or ""
    return host != "localhost" and not host.startswith("127.") and host not in ("::1", "0.0.0.0")  # noqa: S104


def unreachable_labels(rules: Rules) -> str:
    """Return why phones cannot open the QR codes of labels, in the reader's language, or ""."""
    if rules.label_code != "page" or reaches_phones():
        return ""
    text = _(
        "The QR codes of labels lead to %(address)s, which only this machine opens. Set KILIT_PUBLIC_URL to an address"
        " that phones reach, then print labels."
    )
    return text % {"address": settings.PUBLIC_URL}


STATUS_LINK = JobLink("status_link", "order-status", "STATUS_LINK_CREATED", "STATUS_LINK_WITHDRAWN")
PIECE_LINK = JobLink("piece_link", "piece", "PIECE_LINK_CREATED", "PIECE_LINK_WITHDRAWN")

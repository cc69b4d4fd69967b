"""PDF jobs, their owners and their API."""

from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.contrib.auth.models import Group, User
from django.db.models.functions import Now

from kilit.api.input_model import InvalidInput
from kilit.lock.leases import new_lease, no_lease
from pdfjobs.documents import Document, document
from pdfjobs.job_request import parse_job_request
from pdfjobs.models import PdfJob
from pdfjobs.models.job import ENDED, FRESH
from pdfjobs.states import ErrorCode, PdfStatus
from pdfjobs.storage import artifacts
from tests.support.api import Api
from tests.support.lifecycle_conformance import Specimen

PDF = b"%PDF-1.4\n" + bytes(range(256)) * 600 + b"\n%%EOF\n"  # larger than one piece of a download


def keep_files_in(settings: Any, folder: Path) -> None:
    store = {"BACKEND": "pdfjobs.storage.folder.FolderStorage", "OPTIONS": {"location": folder}}
    settings.STORAGES = {**settings.STORAGES, "artifacts": store}


def files(folder: Path) -> list[str]:
    """Return every file in the store."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def body(template: str = "invoice", **changes: Any) -> dict[str, Any]:
    """Return a good request."""
    return {"template_name": template, "variables": document(template).sample, **changes}


def errors_of(kind: Document, variables: Any) -> list[str]:
    """Return everything that is wrong with the variables, each with its path."""
    try:
        kind.model.read(variables)
    except InvalidInput as error:
        return error.lines
    return []


def some_user(name: str = "shop", *, role: str | None = "operator") -> User:
    """Return a backend's user; only operators may have documents made."""
    user, is_new = User.objects.get_or_create(username=name)
    if is_new:
        user.groups.set(Group.objects.filter(name=role))
    return user


def new_job(owner: User | None = None, number: int | None = None, **columns: Any) -> PdfJob:
    """Store a job in its first state; each number is another document."""
    entry = parse_job_request(body())
    variables = entry.variables if number is None else {**entry.variables, "number": f"N-{number}"}
    job = PdfJob(
        owner=owner or some_user(),
        **{
            "job_key": entry.document.job_key(variables, entry.options),
            "template_name": "invoice",
            "payload": variables,
            **entry.document.names(variables),
            "options": entry.options.canonical(),
            **columns,
        },
    )
    job.save()
    return PdfJob.objects.get(pk=job.pk)


def bring(
    job: PdfJob,
    status: str,
    *,
    code: str = ErrorCode.TEMPLATE_ERROR,
    detail: str = "invoice.html, line 3: broken",
    pdf: bytes = PDF,
) -> PdfJob:
    """Bring a queued job into a state by its verbs, its file included."""
    mine = PdfJob.objects.filter(pk=job.pk)
    if status in (PdfStatus.RUNNING, PdfStatus.SUCCEEDED, PdfStatus.FAILED):
        (claimed,) = mine.claim()
        if status == PdfStatus.SUCCEEDED:
            assert claimed.started_at
            kept = artifacts.save(artifacts.new_key(job.pk, claimed.started_at), pdf)
            claimed.succeed(artifact_key=kept.artifact_key, size=kept.size, digest=kept.digest)
        if status == PdfStatus.FAILED:
            mine.fail(code=code, detail=detail)
    if status == PdfStatus.EXPIRED:
        mine.expire()
    return mine.get()


class PdfApi(Api):
    """The API as a backend with a key sees it."""

    def __init__(self, user: User) -> None:
        super().__init__(user, root="/pdf/jobs")
        self.user = user

    def post(self, content: Any = None, **headers: str) -> Any:  # type: ignore[override]
        return self("POST", body=body() if content is None else content, headers=headers)

    def get(self, job_id: Any, **headers: str) -> Any:  # type: ignore[override]
        return self("GET", f"/{job_id}", headers=headers)

    def download(self, job_id: Any, **headers: str) -> Any:
        return self("GET", f"/{job_id}/download", headers=headers)

    def list(self, **query: Any) -> Any:
        return self("GET", **query)

    def delete(self, job_id: Any) -> Any:
        return self("DELETE", f"/{job_id}")

    def link(self, job_id: Any, **content: Any) -> Any:
        return self("POST", f"/{job_id}/link", content)


def another_key() -> str:
    """Return a key that no other example has; Hypothesis makes `random` repeat itself."""
    return uuid4().hex * 2


NUMBERS = count()
AGAIN = {**FRESH, "queued_at": Now()}


def bare_job(**columns: Any) -> PdfJob:
    job = PdfJob(owner=some_user(), job_key=f"{next(NUMBERS):064}", template_name="invoice", **columns)
    job.save()
    return job


PDF_JOBS = Specimen(
    PdfJob,
    make=bare_job,
    changes={
        "claim": lambda: {"started_at": Now(), **new_lease(timedelta(seconds=90))},
        "succeed": lambda: {
            "finished_at": Now(),
            "artifact_key": "pdfs/a.pdf",
            "artifact_size": 1,
            "artifact_digest": "d",
            **no_lease(),
        },
        "fail": lambda: {"finished_at": Now(), "error_code": ErrorCode.UNKNOWN, **no_lease()},
        "retry": lambda: AGAIN,
        "retry_selected": lambda: AGAIN,
        "undo_retry": lambda: {"finished_at": Now(), "error_code": ErrorCode.UNKNOWN},
        "expire": lambda: ENDED,
    },
)

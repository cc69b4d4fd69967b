"""The files of finished PDF jobs, for backup and restore."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.core.files.base import File

from kilit.backup.files import StoredFile
from pdfjobs.models import PdfJob
from pdfjobs.states import PdfStatus
from pdfjobs.storage import artifacts


class PdfFiles:
    def of_finished_jobs(self) -> Iterator[StoredFile]:
        finished = PdfJob.objects.filter(status=PdfStatus.SUCCEEDED).order_by()
        rows = finished.values_list("artifact_key", "artifact_digest")
        return (StoredFile(key, digest) for key, digest in rows.iterator())

    def open(self, key: str) -> Any:
        return artifacts.open_file(key)

    def save(self, key: str, file: File[bytes]) -> None:
        artifacts.save(key, file.read())

    def still_referenced(self, keys: Sequence[str]) -> list[str]:
        return [key for key in keys if PdfJob.objects.filter(artifact_key=key).exists()]

    def expire_jobs(self, keys: Sequence[str]) -> int:
        return len(PdfJob.objects.filter(status=PdfStatus.SUCCEEDED, artifact_key__in=keys).expire())

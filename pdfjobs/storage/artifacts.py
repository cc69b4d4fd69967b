"""Saves, opens and deletes finished PDFs by their key, in whichever backend `STORAGES["artifacts"]` names."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.core.files.base import ContentFile, File
from django.core.files.storage import storages

from kilit.backup.files import StoreUnavailable
from pdfjobs.storage.folder import StorageEntry


class StorageUnavailable(StoreUnavailable):
    """The storage does not answer, so it is unknown whether a file exists."""


class Artifact(NamedTuple):
    artifact_key: str
    size: int
    digest: str


def new_key(job_id: UUID, at: datetime) -> str:
    """Return the key of an attempt's file. Each attempt has its own time, so no attempt overwrites another's file."""
    return f"{folder_of(job_id)}{at:%Y%m%dT%H%M%S%f}.pdf"


def folder_of(job_id: UUID) -> str:
    return f"{_storage().folder}/{job_id}/"


def job_id_of(key: str) -> UUID | None:
    try:
        return UUID(key.split("/")[1])
    except (IndexError, ValueError):
        return None


def save(key: str, content: bytes) -> Artifact:
    """Store the file completely or not at all."""
    with _raising_unavailable():
        saved_as = _storage().save(key, ContentFile(content))
    return Artifact(saved_as, len(content), hashlib.sha256(content).hexdigest())


def open_file(key: str) -> File[bytes]:
    """Open a file that stays readable even if it is deleted meanwhile. Raises FileNotFoundError."""
    storage = _storage()
    try:
        file: File[bytes] = storage.open(key)
        file.seek(0)  # S3 fetches the whole file on first use
    except storage.errors as error:
        raise (FileNotFoundError(key) if storage.is_missing(error) else StorageUnavailable(str(error))) from error
    return file


def exists(key: str) -> bool:
    with _raising_unavailable():
        return bool(_storage().exists(key))


def verify(*, stores: bool = False) -> None:
    """Raise StorageUnavailable unless files can be deleted, and perhaps stored: a bucket's folder must be our own."""
    with _raising_unavailable():
        _storage().verify(stores=stores)


def reason_unavailable() -> str:
    """Return why no file can be stored now, or nothing."""
    try:
        verify(stores=True)
    except StorageUnavailable as error:
        return str(error)
    return ""


def delete(key: str) -> None:
    """Delete a file; one that does not exist is no error."""
    with _raising_unavailable():
        _storage().delete(key)


def list_files() -> Iterator[StorageEntry]:
    with _raising_unavailable():
        yield from _storage().list_files()


def _storage() -> Any:
    return storages["artifacts"]


@contextmanager
def _raising_unavailable() -> Iterator[None]:
    try:
        yield
    except _storage().errors as error:
        raise StorageUnavailable(str(error)) from error

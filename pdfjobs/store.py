"""The artifact store: finished PDFs by their key."""

import hashlib
from collections.abc import Iterator
from datetime import datetime
from http import HTTPStatus
from typing import Any, NamedTuple
from uuid import UUID

from botocore.exceptions import BotoCoreError, ClientError
from django.core.files.base import ContentFile, File
from django.core.files.storage import storages

from kilit.backup.files import StoreUnavailable
from pdfjobs.storage import Stored

PREFIX = "pdfs"
NOT_REACHED = (OSError, BotoCoreError, ClientError)


class StoreDown(StoreUnavailable):
    """The place where files lie does not answer, so that nobody can tell whether one is there."""


class Artifact(NamedTuple):
    """What is written of a stored file in its job's row."""

    artifact_key: str
    size: int
    digest: str


def new_key(job_id: UUID, at: datetime) -> str:
    """Return where a job's file is stored; each attempt has a time of its own, so none overwrites another's."""
    return f"{PREFIX}/{job_id}/{at:%Y%m%dT%H%M%S%f}.pdf"


def job_of(key: str) -> UUID | None:
    """Return the job that a file belongs to by its key."""
    try:
        return UUID(key.split("/")[1])
    except (IndexError, ValueError):
        return None


def keep(key: str, content: bytes) -> Artifact:
    """Store a file, whole or not at all."""
    try:
        kept = _storage().save(key, ContentFile(content))
    except NOT_REACHED as error:
        raise StoreDown(str(error)) from error
    return Artifact(kept, len(content), hashlib.sha256(content).hexdigest())


def open_file(key: str) -> File[bytes]:
    """Open a file so that it stays whole for who reads it, even when it is deleted meanwhile; FileNotFoundError."""
    try:
        file: File[bytes] = _storage().open(key)
        file.seek(0)  # a bucket's file is fetched at the first use, whole
    except FileNotFoundError:
        raise
    except ClientError as error:
        raise (FileNotFoundError(key) if _says_missing(error) else StoreDown(str(error))) from error
    except NOT_REACHED as error:
        raise StoreDown(str(error)) from error
    return file


def exists(key: str) -> bool:
    try:
        return bool(_storage().exists(key))
    except NOT_REACHED as error:
        raise StoreDown(str(error)) from error


def is_away() -> bool:
    """Tell whether nothing can be stored, because the place does not answer."""
    try:
        return bool(_storage().is_away(PREFIX))
    except NOT_REACHED:
        return True


def delete(key: str) -> None:
    """Remove a file; one that is gone already is no fault."""
    try:
        _storage().delete(key)
    except NOT_REACHED as error:
        raise StoreDown(str(error)) from error


def stored() -> Iterator[Stored]:
    """Return every file there is, of jobs or of nobody."""
    try:
        yield from _storage().stored(PREFIX)
    except NOT_REACHED as error:
        raise StoreDown(str(error)) from error


def _storage() -> Any:
    return storages["artifacts"]


def _says_missing(error: ClientError) -> bool:
    return bool(error.response["ResponseMetadata"]["HTTPStatusCode"] == HTTPStatus.NOT_FOUND)

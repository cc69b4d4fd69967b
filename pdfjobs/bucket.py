"""Finished PDFs in a bucket; apart from the folder's, because importing it takes a while (PDF-9)."""

from collections.abc import Iterator
from typing import Any

from storages.backends.s3 import S3Storage

from pdfjobs.storage import Stored


class S3Artifacts(S3Storage):  # type: ignore[misc]
    """Objects in a bucket of S3 or MinIO, which shows an object only when all of it has arrived."""

    def __init__(self, **options: Any) -> None:
        """Keep files private, and under the very name they are given."""
        super().__init__(**{"default_acl": None, "file_overwrite": True, **options})

    def stored(self, prefix: str) -> Iterator[Stored]:
        """Return every object, a thousand for each request."""
        for item in self.bucket.objects.filter(Prefix=f"{prefix}/"):
            yield Stored(item.key, item.last_modified)

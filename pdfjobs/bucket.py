"""Finished PDFs in a bucket; apart from the folder's, because importing it takes a while."""

from collections.abc import Iterator
from typing import Any

from botocore.config import Config
from storages.backends.s3 import S3Storage

from pdfjobs.storage import Stored

# A caller waits for it, and so does a worker with its lease; botocore's own is five times a minute.
PATIENCE = Config(connect_timeout=3, read_timeout=10, retries={"total_max_attempts": 2})


class S3Artifacts(S3Storage):  # type: ignore[misc]
    """Objects in a bucket of S3 or MinIO, which shows an object only when all of it has arrived."""

    client_config: Config

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"default_acl": None, "file_overwrite": True, **options})
        self.client_config = self.client_config.merge(PATIENCE)

    def is_away(self, prefix: str) -> bool:
        """Ask the bucket about an object that need not be there; any answer will do, and an error is none."""
        self.exists(f"{prefix}/any.pdf")
        return False

    def stored(self, prefix: str) -> Iterator[Stored]:
        """Return every object, a thousand for each request."""
        for item in self.bucket.objects.filter(Prefix=f"{prefix}/"):
            yield Stored(item.key, item.last_modified)

"""Finished PDFs in an S3 bucket. A module of its own: botocore is an optional package, and slow to import."""

from collections.abc import Iterator
from http import HTTPStatus

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from storages.backends.s3 import S3Storage

from pdfjobs.storage.folder import StorageEntry

# A caller and a worker with a lease wait for the answer; botocore's default is five attempts of a minute each.
CLIENT_TIMEOUTS = Config(connect_timeout=3, read_timeout=10, retries={"total_max_attempts": 2})


class S3ArtifactStorage(S3Storage):
    """Objects in a bucket of S3 or MinIO. An object becomes visible only when its upload is complete."""

    client_config: Config
    errors = (OSError, BotoCoreError, ClientError)

    def __init__(self, **options: object) -> None:
        super().__init__(**{"default_acl": None, "file_overwrite": True, **options})
        self.client_config = self.client_config.merge(CLIENT_TIMEOUTS)

    def is_missing(self, error: Exception) -> bool:
        if isinstance(error, ClientError):
            return bool(error.response["ResponseMetadata"]["HTTPStatusCode"] == HTTPStatus.NOT_FOUND)
        return isinstance(error, FileNotFoundError)

    def is_unavailable(self, prefix: str) -> bool:
        self.exists(f"{prefix}/any.pdf")  # any answer will do; no answer raises
        return False

    def list_files(self, prefix: str) -> Iterator[StorageEntry]:
        """Yield every object; one request returns a thousand."""
        for item in self.bucket.objects.filter(Prefix=f"{prefix}/"):
            yield StorageEntry(item.key, item.last_modified)

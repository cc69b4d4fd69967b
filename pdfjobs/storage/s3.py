"""Finished PDFs in an S3 bucket. A module of its own: botocore is an optional package, and slow to import."""

from collections.abc import Iterator
from functools import cached_property
from http import HTTPStatus
from typing import Any

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from storages.backends.s3 import S3Storage

from pdfjobs.storage import owner
from pdfjobs.storage.folder import StorageEntry

# A caller and a worker with a lease wait for the answer; botocore's default is five attempts of a minute each.
CLIENT_TIMEOUTS = Config(connect_timeout=3, read_timeout=10, retries={"total_max_attempts": 2})


class S3ArtifactStorage(S3Storage):
    """Objects in a bucket of S3 or MinIO. An object becomes visible only when its upload is complete."""

    client_config: Config
    is_own = False  # whether the folder is this installation's, as last asked
    errors = (OSError, BotoCoreError, ClientError)

    def __init__(self, **options: object) -> None:
        super().__init__(**{"default_acl": None, "file_overwrite": True, **options})
        self.client_config = self.client_config.merge(CLIENT_TIMEOUTS)

    def is_missing(self, error: Exception) -> bool:
        if isinstance(error, ClientError):
            return bool(error.response["ResponseMetadata"]["HTTPStatusCode"] == HTTPStatus.NOT_FOUND)
        return isinstance(error, FileNotFoundError)

    @cached_property
    def folder(self) -> str:
        return owner.own_folder()

    def verify(self, *, stores: bool = False) -> None:
        """Raise unless the folder is this installation's; any other answer of the bucket raises, too."""
        marker, own = self.bucket.Object(f"{self.folder}.owner"), owner.own_database()
        try:
            found = marker.get()["Body"].read().decode()
        except ClientError as error:
            if not self.is_missing(error):
                raise
            marker.put(Body=own.encode())
            found = marker.get()["Body"].read().decode()
        self.is_own = found == own
        if not self.is_own:
            names = {"folder": self.folder, "bucket": self.bucket_name, "marker": marker.key}
            raise OSError(owner.FOREIGN.format(**names, owner=found[:100], own=own))

    def _save(self, name: str, content: Any) -> str:
        self._verify_once()
        return str(super()._save(name, content))

    def delete(self, name: str) -> None:
        self._verify_once()
        super().delete(name)

    def _verify_once(self) -> None:
        if not self.is_own:
            self.verify()

    def list_files(self) -> Iterator[StorageEntry]:
        """Yield every object of this installation; one request returns a thousand."""
        for item in self.bucket.objects.filter(Prefix=f"{self.folder}/"):
            yield StorageEntry(item.key, item.last_modified)

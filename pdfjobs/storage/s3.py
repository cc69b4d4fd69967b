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
    errors = (OSError, BotoCoreError, ClientError)

    def __init__(self, **options: object) -> None:
        super().__init__(**{"default_acl": None, "file_overwrite": True, **options})
        self.client_config = self.client_config.merge(CLIENT_TIMEOUTS)
        self.own_folders: set[str] = set()  # this installation's, as last asked

    def is_missing(self, error: Exception) -> bool:
        if isinstance(error, ClientError):
            return bool(error.response["ResponseMetadata"]["HTTPStatusCode"] == HTTPStatus.NOT_FOUND)
        return isinstance(error, FileNotFoundError)

    @cached_property
    def folder(self) -> str:
        return owner.own_folder()

    def verify(self, *, stores: bool = False, folder: str = "") -> None:
        """Raise unless the folder is this installation's; any other answer of the bucket raises, too."""
        folder = folder or self.folder
        marker, own = self.bucket.Object(f"{folder}.owner"), owner.own_database()
        try:
            found = marker.get()["Body"].read().decode()
        except ClientError as error:
            if not self.is_missing(error):
                raise
            marker.put(Body=own.encode())
            found = marker.get()["Body"].read().decode()
        if found != own:
            self.own_folders.discard(folder)
            raise OSError(owner.FOREIGN.format(folder=folder, bucket=self.bucket_name, owner=found[:100], own=own))
        self.own_folders.add(folder)

    def _save(self, name: str, content: Any) -> str:
        self._verify_once(name.partition("/")[0])  # a restore has no table yet that names the folder
        return str(super()._save(name, content))

    def delete(self, name: str) -> None:
        self._verify_once(self.folder)  # also for files that older versions stored in `pdfs/`
        super().delete(name)

    def _verify_once(self, folder: str) -> None:
        if folder not in self.own_folders:
            self.verify(folder=folder)

    def list_files(self) -> Iterator[StorageEntry]:
        """Yield every object of this installation; one request returns a thousand."""
        for item in self.bucket.objects.filter(Prefix=f"{self.folder}/"):
            yield StorageEntry(item.key, item.last_modified)

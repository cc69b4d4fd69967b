"""The contents of a backup: its files with their checksums, and facts about the database it came from."""

import hashlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal, Self

from django.conf import settings
from pydantic import ConfigDict

from kilit.api.input_model import Expected, InputModel
from kilit.api.json_reader import parse_json
from kilit.backup.programs import BackupRefused
from kilit.database.origin import SchemaOrigin

NAME = "manifest.json"
DUMP = "database.dump"
FILES = "artifacts"


class Manifest(InputModel):
    """Written last, so that a folder without one is not a backup."""

    model_config = ConfigDict(frozen=False)
    most_errors = 3

    format: Annotated[Literal[1], Expected("1; use the version of Kilit that made the backup")]
    version: str = ""  # of the Kilit that made the tables; backups made before Kilit recorded it have none
    made_at: str
    server: str  # PostgreSQL's version
    client: str = ""  # pg_dump's version; backups made before Kilit noted it have none
    keys: str  # a fingerprint of the keys that encrypt credentials, never the keys
    migrations: list[str]
    rows: dict[str, int]  # by table
    with_files: bool
    missing: list[str]  # files that rows name, but that are not in the backup
    lost: list[str]  # those that were not deleted by the cleanup
    sums: dict[str, str]  # sha256 of each file, by its path in the backup

    def write(self, folder: Path) -> None:
        (folder / NAME).write_text(self.model_dump_json(indent=1) + "\n", encoding="utf-8")

    @classmethod
    def of(cls, folder: Path) -> Self:
        try:
            manifest = cls.read(parse_json((folder / NAME).read_bytes()))
        except OSError as error:
            raise BackupRefused(f"{folder} is not a backup: {error.strerror} ({NAME}).") from error
        except ValueError as error:
            raise BackupRefused(f"{folder / NAME} is damaged: {error}") from error
        if DUMP not in manifest.sums or not all(_is_plain(name) for name in manifest.sums):
            raise BackupRefused(f"{folder / NAME} is damaged: it lists files that do not belong in a backup.")
        return manifest

    def verify(self, folder: Path) -> None:
        wrong = [name for name, expected in self.sums.items() if digest_of(folder / name) != expected]
        if wrong:
            names = ", ".join(wrong[:5]) + (f" and {len(wrong) - 5} more" if len(wrong) > 5 else "")
            raise BackupRefused(f"{folder} is damaged: {names} missing or changed.")

    @property
    def origin(self) -> SchemaOrigin:
        names = (name.partition(".") for name in self.migrations)
        return SchemaOrigin(self.version, frozenset((app, migration) for app, _dot, migration in names))

    def artifacts(self) -> Iterator[str]:
        return (name.removeprefix(f"{FILES}/") for name in self.sums if name.startswith(f"{FILES}/"))


def _is_plain(name: str) -> bool:
    """Reject paths that lead out of the backup."""
    parts = PurePosixPath(name).parts
    return name == DUMP or (parts[:1] == (FILES,) and len(parts) > 1 and not {"..", "/"} & set(parts))


def digest_of(path: Path) -> str | None:
    """Return None when the file cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def keys_fingerprint() -> str:
    keys = settings.CREDENTIAL_KEYS or [settings.SECRET_KEY]
    return hashlib.sha256(f"kilit backup {keys[0]}".encode()).hexdigest()[:16]

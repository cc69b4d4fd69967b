"""The contents of a backup: its files with their checksums, and facts about the database it came from."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Self

from django.conf import settings

NAME = "manifest.json"
DUMP = "database.dump"
FILES = "artifacts"
FORMAT = 1


class InvalidBackup(Exception):  # noqa: N818 - a fact about a folder, not a bug
    """The folder is not a backup, or is damaged."""


@dataclass(kw_only=True)
class Manifest:
    """Written last, so that a folder without one is not a backup."""

    format: int = FORMAT
    made_at: str = ""
    server: str = ""  # PostgreSQL's version
    keys: str = ""  # a fingerprint of the keys that encrypt credentials, never the keys
    migrations: list[str] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)  # by table
    with_files: bool = True
    missing: list[str] = field(default_factory=list)  # files that rows name, but that are not in the backup
    lost: list[str] = field(default_factory=list)  # those that were not deleted by the cleanup
    sums: dict[str, str] = field(default_factory=dict)  # sha256 of each file, by its path in the backup

    def write(self, folder: Path) -> None:
        (folder / NAME).write_text(json.dumps(asdict(self), indent=1) + "\n")

    @classmethod
    def read(cls, folder: Path) -> Self:
        try:
            values = json.loads((folder / NAME).read_text())
        except OSError as error:
            raise InvalidBackup(f"{folder} is not a backup: {error.strerror} ({NAME}).") from error
        except ValueError as error:
            raise InvalidBackup(f"{folder / NAME} is damaged: {error}.") from error
        if not isinstance(values, dict) or values.get("format") != FORMAT:
            raise InvalidBackup(f"{folder / NAME} is not of format {FORMAT}: use the version of Kilit that made it.")
        if problem := cls._problem(values):
            raise InvalidBackup(f"{folder / NAME} is damaged: {problem}.")
        manifest = cls(**values)
        if DUMP not in manifest.sums or not all(_is_plain(name) for name in manifest.sums):
            raise InvalidBackup(f"{folder / NAME} is damaged: it lists files that do not belong in a backup.")
        return manifest

    @classmethod
    def _problem(cls, values: dict[str, Any]) -> str | None:
        kinds = {name: type(value) for name, value in asdict(cls()).items()}
        if unknown := sorted(values.keys() - kinds.keys()):
            return f"unknown key {unknown[0]!r}"
        wrong = (name for name, kind in kinds.items() if not isinstance(values.get(name), kind))
        return next((f"invalid value of {name!r}" for name in wrong), None)

    def verify(self, folder: Path) -> None:
        wrong = [name for name, expected in self.sums.items() if digest_of(folder / name) != expected]
        if wrong:
            shown = ", ".join(wrong[:5]) + (f" and {len(wrong) - 5} more" if len(wrong) > 5 else "")  # noqa: PLR2004
            raise InvalidBackup(f"{folder} is damaged: {shown} missing or changed.")

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

"""What is in a backup: its files with their sums, and what was true of the database when it was made."""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Any, Self

from django.conf import settings

NAME = "manifest.json"
DUMP = "database.dump"
FILES = "artifacts"
FORMAT = 1
PIECE = 1024 * 1024


class BadBackup(Exception):  # noqa: N818 - a fact about a folder, not a mistake of ours
    """The folder is no backup, or not as it was made."""


@dataclass(kw_only=True)
class Manifest:
    """The table of contents; written last, so that a folder without one is no backup."""

    format: int = FORMAT
    made_at: str = ""
    server: str = ""  # PostgreSQL's version
    keys: str = ""  # a mark of the keys that seal stored logins, never the keys
    migrations: list[str] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)  # by table
    with_files: bool = True
    missing: list[str] = field(default_factory=list)  # files that rows speak of, and that are not in it
    lost: list[str] = field(default_factory=list)  # those of them that no cleanup explains
    sums: dict[str, str] = field(default_factory=dict)  # sha256 of each file of the backup, by its path in it

    def write(self, folder: Path) -> None:
        """Write it down as the last file."""
        (folder / NAME).write_text(json.dumps(asdict(self), indent=1) + "\n")

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read a backup's manifest, or say what is wrong with the folder."""
        try:
            facts = json.loads((folder / NAME).read_text())
        except OSError as error:
            raise BadBackup(f"{folder} is no backup: {error.strerror} ({NAME}).") from error
        except ValueError as error:
            raise BadBackup(f"{folder / NAME} is damaged: {error}.") from error
        if not isinstance(facts, dict) or facts.get("format") != FORMAT:
            raise BadBackup(f"{folder / NAME} is not of format {FORMAT}: restore it with the Kilit that made it.")
        if fault := cls._fault(facts):
            raise BadBackup(f"{folder / NAME} is damaged: {fault}.")
        found = cls(**facts)
        if DUMP not in found.sums or not all(_is_plain(name) for name in found.sums):
            raise BadBackup(f"{folder / NAME} is damaged: it names other files than a backup has.")
        return found

    @classmethod
    def _fault(cls, facts: dict[str, Any]) -> str | None:
        """Say which fact is not what a manifest has, or not of its kind."""
        kinds = {name: type(value) for name, value in asdict(cls()).items()}
        if unknown := sorted(facts.keys() - kinds.keys()):
            return f"it has {unknown[0]!r}"
        wrong = (name for name, kind in kinds.items() if not isinstance(facts.get(name), kind))
        return next((f"{name!r} is not as a backup writes it" for name in wrong), None)

    def verify(self, folder: Path) -> None:
        """Read every file and refuse the whole when one is missing or differs."""
        wrong = [name for name, expected in self.sums.items() if sum_of(folder / name) != expected]
        if wrong:
            shown = ", ".join(wrong[:5]) + (f" and {len(wrong) - 5} more" if len(wrong) > 5 else "")  # noqa: PLR2004
            raise BadBackup(f"{folder} is damaged: {shown} missing or changed since it was made.")

    def artifacts(self) -> Iterator[str]:
        """Return the keys of the files in it."""
        return (name.removeprefix(f"{FILES}/") for name in self.sums if name.startswith(f"{FILES}/"))


def _is_plain(name: str) -> bool:
    """Tell whether a name leads to a file of the backup and nowhere else."""
    parts = PurePosixPath(name).parts
    return name == DUMP or (parts[:1] == (FILES,) and len(parts) > 1 and not {"..", "/"} & set(parts))


def sum_of(path: Path) -> str | None:
    """Return the sum of a file, or none when it cannot be read."""
    try:
        with path.open("rb") as file:
            return copied(file, lambda _: None)
    except OSError:
        return None


def copied(source: IO[bytes] | Any, write: Callable[[bytes], Any]) -> str:
    """Pass a file on piece by piece, and return the sum of what was passed."""
    digest = hashlib.sha256()
    while piece := source.read(PIECE):
        digest.update(piece)
        write(piece)
    return digest.hexdigest()


def mark_of_keys() -> str:
    """Return what tells two sets of keys apart and gives neither away."""
    keys = settings.CREDENTIAL_KEYS or [settings.SECRET_KEY]
    return hashlib.sha256(f"kilit backup {keys[0]}".encode()).hexdigest()[:16]

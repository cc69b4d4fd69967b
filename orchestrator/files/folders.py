"""The paths of one factory: OptiPlanning's folders, the saw's, the template and the command."""

import json
import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from django.conf import settings


@dataclass(frozen=True)
class Folders:
    imports: Path  # OptiPlanning's import folder
    export: Path  # OptiPlanning's export folder
    saw: Path  # it looks for files in inbox, and moves them to processed or failed
    template: Path
    command: tuple[str, ...] = ()  # mode A; the files are appended

    @classmethod
    def from_settings(cls) -> Self:
        return cls(
            imports=settings.OPTI_IMPORT_FOLDER,
            export=settings.OPTI_EXPORT_FOLDER,
            saw=settings.SAW_FOLDER,
            template=settings.OPTI_TEMPLATE,
            command=read_command(settings.OPTI_COMMAND),
        )

    @property
    def inbox(self) -> Path:
        return self.saw / "inbox"

    @property
    def processed(self) -> Path:
        return self.saw / "processed"

    @property
    def failed(self) -> Path:
        return self.saw / "failed"

    def all(self) -> dict[str, Path]:
        return {
            "import": self.imports,
            "export": self.export,
            "saw inbox": self.inbox,
            "saw processed": self.processed,
            "saw failed": self.failed,
        }

    def prepare(self) -> None:
        """Create the folders below KILIT_VAR. Others belong to the factory, and a share may not be mounted."""
        for folder in self.all().values():
            if folder.is_relative_to(settings.KILIT_VAR):
                folder.mkdir(parents=True, exist_ok=True)


def split(line: str, *, posix: bool) -> list[str]:
    """Split a command line; on Windows backslashes stay, and quotes around a word are removed."""
    words = shlex.split(line, posix=posix)
    return words if posix else [re.sub(r"""^(["'])(.*)\1$""", r"\2", word) for word in words]


def read_command(line: str) -> tuple[str, ...]:
    """Return the words of a command, given as a JSON array or as a shell line; empty if it is malformed."""
    try:
        words = json.loads(line) if line.lstrip().startswith("[") else split(line, posix=os.name == "posix")
    except ValueError:
        return ()
    return tuple(words) if all(isinstance(word, str) and word for word in words) else ()

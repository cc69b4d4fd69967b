"""Where the floor's files are: OptiPlanning's folders, the saw's, the template and the command."""

import json
import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from django.conf import settings

INBOX, PROCESSED, FAILED = "inbox", "processed", "failed"


@dataclass(frozen=True)
class Folders:
    """The places of one factory."""

    imports: Path  # OptiPlanning's import folder
    export: Path  # OptiPlanning's export folder
    saw: Path  # the machine drop
    template: Path
    command: tuple[str, ...] = ()  # mode A; the files are appended

    @classmethod
    def from_settings(cls) -> Self:
        """Return the places that this installation is configured with."""
        return cls(
            imports=settings.OPTI_IMPORT_FOLDER,
            export=settings.OPTI_EXPORT_FOLDER,
            saw=settings.SAW_FOLDER,
            template=settings.OPTI_TEMPLATE,
            command=read_command(settings.OPTI_COMMAND),
        )

    @property
    def inbox(self) -> Path:
        """Return where the saw looks for files."""
        return self.saw / INBOX

    @property
    def processed(self) -> Path:
        """Return where the saw puts what it took."""
        return self.saw / PROCESSED

    @property
    def failed(self) -> Path:
        """Return where the saw puts what it refused."""
        return self.saw / FAILED

    def all(self) -> dict[str, Path]:
        """Return every folder that must be there, by what it is called."""
        return {
            "import": self.imports,
            "export": self.export,
            "saw inbox": self.inbox,
            "saw processed": self.processed,
            "saw failed": self.failed,
        }

    def prepare(self) -> None:
        """Make the folders below KILIT_VAR; those of a factory are somebody else's, and a share may not be mounted."""
        for folder in self.all().values():
            if folder.is_relative_to(settings.KILIT_VAR):
                folder.mkdir(parents=True, exist_ok=True)


def split(line: str, *, posix: bool) -> list[str]:
    """Split a line into words; on Windows backslashes stay, and quotes around a word are no part of it."""
    words = shlex.split(line, posix=posix)
    return words if posix else [re.sub(r"""^(["'])(.*)\1$""", r"\2", word) for word in words]


def read_command(line: str) -> tuple[str, ...]:
    """Return the words of a command: a JSON array, else words as a shell would split them; none when it is broken."""
    try:
        words = json.loads(line) if line.lstrip().startswith("[") else split(line, posix=os.name == "posix")
    except ValueError:
        return ()
    return tuple(words) if all(isinstance(word, str) and word for word in words) else ()

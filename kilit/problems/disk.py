"""Disks that are almost full, as problems: of the data folder, and of the embedded PostgreSQL."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.utils.formats import number_format
from django.utils.translation import gettext as _

from kilit.problems.kinds import ProblemKind
from kilit.problems.registry import Problem, Severity

PART = "installation"
GB = 1_000_000_000
LOW = 0.1  # of the whole disk


def find(user: User | AnonymousUser) -> Iterator[Problem]:
    if not settings.DISK_LOW_GB or not user.has_perm("workers.view_heartbeat"):
        return
    for name, folder in _folders().items():
        disk = shutil.disk_usage(folder)
        if disk.free < settings.DISK_LOW_GB * GB and disk.free < disk.total * LOW:
            yield Problem(
                part=PART,
                kind=ProblemKind.DISK_LOW,
                name=name,
                severity=Severity.SERIOUS,
                title=_("A disk is almost full: %(free)s GB free") % {"free": number_format(disk.free / GB, 1)},
                cause=_("the disk of %(folder)s") % {"folder": folder},
            )


def _folders() -> dict[str, Path]:
    """Return the folders to look at, one for each disk."""
    folders = {"data": settings.KILIT_VAR}
    if settings.DATABASES["default"]["ENGINE"] == "kilit.postgres":
        from kilit.postgres.place import home_of  # noqa: PLC0415 - not on Windows, where nothing is embedded

        folders["database"] = home_of(settings.KILIT_VAR / "postgres")
    found = {name: folder for name, folder in folders.items() if folder.exists()}
    by_disk = {folder.stat().st_dev: name for name, folder in reversed(found.items())}
    return {name: found[name] for name in by_disk.values()}

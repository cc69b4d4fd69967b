"""System checks of the PDF queue's settings."""

import re
from collections.abc import Sequence

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db import connection

from kilit.workers.management.checked_settings import SETTINGS
from pdfjobs.documents.catalogue import KNOWN
from pdfjobs.models import BucketFolder
from pdfjobs.models.job import LONGEST_TIMEOUT
from pdfjobs.rendering.fonts import folders, fonts_in
from pdfjobs.storage import artifacts
from pdfjobs.work import BEYOND_TIMEOUT


def register_checks() -> None:
    for check in (check_asset_patterns, check_fonts, check_templates, check_timeouts):
        register(check, SETTINGS)
    register(check_sandbox, Tags.security, deploy=True)
    register(check_bucket, "tables")


def check_asset_patterns(**_: object) -> list[CheckMessage]:
    messages: list[CheckMessage] = []
    for pattern in settings.PDF_ASSET_PATTERNS:
        try:
            re.compile(pattern)
        except re.error as error:
            hint = "KILIT_PDF_ASSET_PATTERNS holds regular expressions for whole addresses, separated by spaces."
            messages.append(Error(f"{pattern!r} is not a regular expression: {error}.", hint=hint, id="kilit.E004"))
    return messages


def check_fonts(**_: object) -> list[CheckMessage]:
    hint = "KILIT_PDF_FONTS holds folders with TTF, OTF or TTC files, separated by commas."
    empty = [folder for folder in folders() if not fonts_in(folder)]
    return [Warning(f"The folder {str(folder)!r} has no fonts.", hint=hint, id="kilit.W010") for folder in empty]


def check_templates(**_: object) -> list[CheckMessage]:
    unknown = [name for name in settings.PDF_TEMPLATES if name not in KNOWN]
    hint = f"KILIT_PDF_TEMPLATES may contain {', '.join(KNOWN)}."
    return [Warning(f"There is no PDF template {name!r}.", hint=hint, id="kilit.W004") for name in unknown]


def check_timeouts(**_: object) -> list[CheckMessage]:
    """A job must end before django-q2 kills its task."""
    needed = int((LONGEST_TIMEOUT + BEYOND_TIMEOUT).total_seconds())
    if needed <= settings.TASK_TIMEOUT:
        return []
    allowed = max(1, settings.TASK_TIMEOUT - int(BEYOND_TIMEOUT.total_seconds()))
    message = f"PDF jobs are ended after {allowed} s, even if their caller allows more."
    return [Warning(message, hint=f"Set KILIT_TASK_TIMEOUT to at least {needed}.", id="kilit.W005")]


def check_sandbox(**_: object) -> list[CheckMessage]:
    """Workers that run as root warn about it themselves."""
    if settings.PDF_SANDBOX:
        return []
    return [Warning("Chromium runs without its sandbox.", hint="Set KILIT_PDF_SANDBOX to true.", id="kilit.W006")]


def check_bucket(databases: Sequence[str] | None = None, **_: object) -> list[CheckMessage]:
    """Another installation may own the folder in the bucket. Connects, so it only runs with `check --database`."""
    is_migrated = databases and BucketFolder._meta.db_table in connection.introspection.table_names()
    reason = artifacts.reason_unavailable() if is_migrated and settings.PDF_S3_BUCKET else ""
    return [Error(reason, hint="docs/pdf-operators.md says more under Files.", id="kilit.E015")] if reason else []

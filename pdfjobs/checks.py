"""System checks: settings of PDF jobs that would run, and surprise somebody."""

import re
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register  # noqa: A004 - Django's own name

from pdfjobs.documents.catalogue import KNOWN
from pdfjobs.models.job import LONGEST_TIMEOUT
from pdfjobs.work import BEYOND_TIMEOUT


@register()
def check_asset_patterns(**_: Any) -> list[CheckMessage]:
    """A pattern that cannot be read would refuse every image at the time of rendering."""
    found: list[CheckMessage] = []
    for pattern in settings.PDF_ASSET_PATTERNS:
        try:
            re.compile(pattern)
        except re.error as error:
            hint = "KILIT_PDF_ASSET_PATTERNS holds regular expressions of whole addresses, separated by spaces."
            found.append(Error(f"{pattern!r} is not a regular expression: {error}.", hint=hint, id="kilit.E004"))
    return found


@register()
def check_templates(**_: Any) -> list[CheckMessage]:
    """A misspelt name would only be noticed by the first caller."""
    unknown = [name for name in settings.PDF_TEMPLATES if name not in KNOWN]
    hint = f"KILIT_PDF_TEMPLATES may name {', '.join(KNOWN)}."
    return [Warning(f"There is no PDF template {name!r}.", hint=hint, id="kilit.W004") for name in unknown]


@register()
def check_time(**_: Any) -> list[CheckMessage]:
    """A job must be over before its task is ended by force."""
    needed = int((LONGEST_TIMEOUT + BEYOND_TIMEOUT).total_seconds())
    if needed <= settings.TASK_TIMEOUT:
        return []
    allowed = max(1, settings.TASK_TIMEOUT - int(BEYOND_TIMEOUT.total_seconds()))
    return [
        Warning(
            f"PDF jobs are ended after {allowed} s, even when their caller allows more.",
            hint=f"Make KILIT_TASK_TIMEOUT at least {needed}.",
            id="kilit.W005",
        )
    ]


@register(Tags.security, deploy=True)
def check_sandbox(**_: Any) -> list[CheckMessage]:
    """Chromium's sandbox is the last wall around a page; workers that run as root tell of it themselves."""
    if settings.PDF_SANDBOX:
        return []
    return [Warning("Chromium runs without its sandbox.", hint="Leave KILIT_PDF_SANDBOX on.", id="kilit.W006")]

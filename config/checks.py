"""System checks: settings that would let the product run, and break its promises."""

from math import ceil
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register  # noqa: A004 - Django's own name

# What django-q2 must be told so that our rows, not its tasks, own attempts and retries.
DOORBELL_SETTINGS = {
    "ack_failures": True,
    "max_attempts": 1,
    "save_limit": -1,
    "scheduler": False,
    "guard_cycle": 0.5,
}

UPLOAD_SHARE = 1.5  # of an upload, which its task must last, to claim before and settle after it


@register()
def check_retry(**_: Any) -> list[CheckMessage]:
    """A task fetched ahead waits for the tasks before it, while its visibility clock runs."""
    q = settings.Q_CLUSTER
    needed = (ceil((q["queue_limit"] + q["bulk"]) / q["workers"]) + 1) * (q["timeout"] + 3)
    if q["retry"] > needed:
        return []
    return [
        Error(
            f"Q_CLUSTER['retry'] is {q['retry']} s: a task could be handed out again while it runs.",
            hint=f"Make it more than {needed} s, or shorten KILIT_TASK_TIMEOUT.",
            id="kilit.E001",
        )
    ]


@register()
def check_doorbells(**_: Any) -> list[CheckMessage]:
    """django-q2 retries, saves and catches up by default; a doorbell must not."""
    return [
        Error(
            f"Q_CLUSTER['{name}'] must be {value!r}, it is {settings.Q_CLUSTER.get(name)!r}.",
            hint="docs/decisions/0003-doorbells.md tells what happens otherwise.",
            id="kilit.E002",
        )
        for name, value in DOORBELL_SETTINGS.items()
        if settings.Q_CLUSTER.get(name) != value
    ]


@register()
def check_upload_fits(**_: Any) -> list[CheckMessage]:
    """A worker's task that is ended in the middle of an upload leaves rows whose outcome nobody knows."""
    needed = settings.GOOGLE_ADS_TIMEOUT * UPLOAD_SHARE
    if needed <= settings.TASK_TIMEOUT:
        return []
    return [
        Error(
            f"KILIT_GOOGLE_ADS_TIMEOUT is {settings.GOOGLE_ADS_TIMEOUT} s: an upload could outlive its task.",
            hint=f"Make KILIT_TASK_TIMEOUT at least {needed:.0f} s, or this shorter.",
            id="kilit.E005",
        )
    ]


@register(Tags.database)
def check_engine(**_: Any) -> list[CheckMessage]:
    """Claims need SKIP LOCKED, partial indexes and triggers."""
    engine = settings.DATABASES["default"]["ENGINE"]
    if engine in {"kilit.postgres", "django.db.backends.postgresql"}:
        return []
    return [Error(f"{engine} is not PostgreSQL.", hint="Set DATABASE_URL=postgres://…", id="kilit.E003")]


@register(Tags.security, deploy=True)
def check_production(**_: Any) -> list[CheckMessage]:
    """A deployment is told so, and has a database that somebody backs up."""
    found: list[CheckMessage] = []
    if not settings.PRODUCTION:
        found.append(Warning("KILIT_PRODUCTION is off.", hint="Set it to true.", id="kilit.W001"))
    if settings.DATABASES["default"]["ENGINE"] == "kilit.postgres":
        found.append(Warning("The embedded PostgreSQL is for one machine.", hint="Set DATABASE_URL.", id="kilit.W002"))
    if not settings.METRICS_TOKEN:
        found.append(Warning("/metrics is open to everybody.", hint="Set KILIT_METRICS_TOKEN.", id="kilit.W003"))
    if not settings.CREDENTIAL_KEYS:
        found.append(
            Warning(
                "Stored logins are sealed with SECRET_KEY, and lost with it.",
                hint="Set KILIT_CREDENTIAL_KEYS to a long random word.",
                id="kilit.W007",
            )
        )
    return found

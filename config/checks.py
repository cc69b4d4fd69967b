"""System checks for settings that would break a guarantee without stopping the product."""

import os
import re
from collections.abc import Sequence
from importlib.util import find_spec
from math import ceil
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.contrib.admin.checks import check_admin_app
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db import NotSupportedError, connection

from config.settings.environment import PLACEHOLDER
from kilit.database.origin import UnreleasedVersion, refuse_unreleased
from kilit.workers.management.checked_settings import SETTINGS

# With these, our rows and not django-q2's tasks own attempts and retries.
DOORBELL_SETTINGS = {"ack_failures": True, "max_attempts": 1, "save_limit": -1, "scheduler": False, "guard_cycle": 0.5}

OLDEST_SERVER, NEWEST_SERVER = 15, 18  # versions of PostgreSQL; `make test-postgres` tests them

# The variables of .env.production.example that every installation has to fill in, and how they look before. With its
# secrets, nothing starts.
FILLED_IN = (
    "DATABASE_URL",
    "ALLOWED_HOSTS",
    "CSRF_TRUSTED_ORIGINS",
    "EMAIL_URL",
    "EMAIL_FROM",
    "KILIT_PUBLIC_URL",
    "KILIT_HEARTBEAT_URL",
    "KILIT_S3_ENDPOINT",
)
PLACEHOLDERS = re.compile(rf"{PLACEHOLDER.pattern}|\bchange-me\b|\bexample\.com\b|\byour-check\b")

# Tokens and the client's secret travel there; on this machine, for tests, they need no TLS.
OIDC_ISSUER = re.compile(r"(https://[^\s/?#]+|http://(127\.0\.0\.1|localhost)(:\d+)?)(/[^\s?#]*)?")
LONGEST_ISSUER = 200  # as django-allauth stores it

TASK_PER_UPLOAD = 1.5  # a task also claims rows before the upload and records results after it


@register(Tags.admin)
def check_admins(app_configs: Any, **_: object) -> list[CheckMessage]:
    """Django's own check may run before the admins are loaded, which config.urls does."""
    admin.autodiscover()
    return check_admin_app(app_configs)


@register(SETTINGS)
def check_retry(**_: object) -> list[CheckMessage]:
    """The visibility timeout of a prefetched task runs while it waits for the tasks before it."""
    q = settings.Q_CLUSTER
    needed = (ceil((q["queue_limit"] + q["bulk"]) / q["workers"]) + 1) * (q["timeout"] + 3)
    text = f"Q_CLUSTER['retry'] is {q['retry']} s: a task could be started again while it is running."
    hint = f"Make it more than {needed} s, or reduce KILIT_TASK_TIMEOUT."
    return [] if q["retry"] > needed else [Error(text, hint=hint, id="kilit.E001")]


@register(SETTINGS)
def check_extras(**_: object) -> list[CheckMessage]:
    """Without the package, no PDF could be stored."""
    is_missing = settings.PDF_S3_BUCKET and find_spec("storages") is None
    text = "KILIT_S3_BUCKET is set, but django-storages is not installed."
    return [Error(text, hint="Install the extra `s3`.", id="kilit.E014")] if is_missing else []


@register(SETTINGS)
def check_doorbells(**_: object) -> list[CheckMessage]:
    """By default django-q2 retries and stores tasks; a doorbell must not."""
    return [
        Error(
            f"Q_CLUSTER['{name}'] must be {value!r}, but is {settings.Q_CLUSTER.get(name)!r}.",
            hint="See docs/decisions/0003-doorbells.md.",
            id="kilit.E002",
        )
        for name, value in DOORBELL_SETTINGS.items()
        if settings.Q_CLUSTER.get(name) != value
    ]


@register(SETTINGS)
def check_upload_fits(**_: object) -> list[CheckMessage]:
    """A task killed during an upload leaves rows with an unknown result."""
    needed = settings.GOOGLE_ADS_TIMEOUT * TASK_PER_UPLOAD
    text = f"KILIT_GOOGLE_ADS_TIMEOUT is {settings.GOOGLE_ADS_TIMEOUT} s: an upload could outlive its task."
    hint = f"Set KILIT_TASK_TIMEOUT to at least {needed:.0f} s, or reduce KILIT_GOOGLE_ADS_TIMEOUT."
    return [] if needed <= settings.TASK_TIMEOUT else [Error(text, hint=hint, id="kilit.E005")]


@register(SETTINGS)
def check_heartbeat_url(**_: object) -> list[CheckMessage]:
    address = settings.HEARTBEAT_URL
    if not address or re.fullmatch(r"https?://[^\s/?#]+\S*", address):
        return []
    hint = "Use the address that the service gave you, such as https://hc-ping.com/…"
    return [Error("KILIT_HEARTBEAT_URL is not an http or https address.", hint=hint, id="kilit.E006")]


@register(SETTINGS)
def check_metrics(**_: object) -> list[CheckMessage]:
    if not settings.PRODUCTION or settings.METRICS_TOKEN or settings.METRICS_ALLOW:
        return []
    hint = "Set KILIT_METRICS_TOKEN, or KILIT_METRICS_ALLOW to the address of your Prometheus."
    return [Warning("Nobody can read /metrics.", hint=hint, id="kilit.W003")]


@register(SETTINGS)
def check_proxy(**_: object) -> list[CheckMessage]:
    text = f"The web server listens on {settings.HOST} without a proxy: a few slow clients can stop it."
    hint = "Put nginx or Caddy in front and set KILIT_PROXIES=1; see docs/deployment.md."
    return [Warning(text, hint=hint, id="kilit.W011")] if settings.IS_EXPOSED else []


@register(SETTINGS)
def check_oidc(**_: object) -> list[CheckMessage]:
    """An issuer that is not complete would give a button that leads nowhere."""
    needed = {
        "KILIT_OIDC_ISSUER": settings.OIDC_ISSUER,
        "KILIT_OIDC_CLIENT_ID": settings.OIDC_CLIENT_ID,
        "KILIT_OIDC_CLIENT_SECRET": settings.OIDC_CLIENT_SECRET,
        "KILIT_OIDC_GROUPS": settings.OIDC_GRANTS,
    }
    missing = [name for name, value in needed.items() if not value]
    if len(missing) == len(needed):
        return []
    errors: list[CheckMessage] = [
        Error(f"{name} is not set, but others of OpenID Connect are.", hint="Set all or none of them.", id="kilit.E009")
        for name in missing
    ]
    fits = OIDC_ISSUER.fullmatch(settings.OIDC_ISSUER) and len(settings.OIDC_ISSUER) <= LONGEST_ISSUER
    if settings.OIDC_ISSUER and not fits:
        hint = "Use an https address of at most 200 characters, as the provider writes it in its tokens."
        errors.append(Error("KILIT_OIDC_ISSUER is not an https address.", hint=hint, id="kilit.E010"))
    return errors


@register(Tags.database)
def check_engine(**_: object) -> list[CheckMessage]:
    """Claims need SKIP LOCKED, partial indexes and triggers."""
    engine = settings.DATABASES["default"]["ENGINE"]
    if engine in {"kilit.postgres", "kilit.postgres.external"}:
        return []
    return [Error(f"{engine} is not PostgreSQL.", hint="Set DATABASE_URL=postgres://…", id="kilit.E003")]


@register(Tags.database)
def check_server_version(databases: Sequence[str] | None = None, **_: object) -> list[CheckMessage]:
    """Connects, so it only runs with `migrate` and `check --database default`."""
    if not databases:
        return []
    supported = f"Kilit is tested with PostgreSQL {OLDEST_SERVER} to {NEWEST_SERVER}."
    try:
        version: int = connection.pg_version // 10000  # type: ignore[attr-defined]
    except NotSupportedError as error:  # too old for Django
        return [Error(str(error), hint=supported, id="kilit.E007")]
    if version < OLDEST_SERVER:
        return [Error(f"The server is PostgreSQL {version}, which is too old.", hint=supported, id="kilit.E007")]
    if version > NEWEST_SERVER:
        return [Warning(f"The server is PostgreSQL {version}.", hint=supported, id="kilit.W008")]
    return []


@register("tables")  # `migrate` says the same in one sentence, and does not ask for this tag
def check_origin(databases: Sequence[str] | None = None, **_: object) -> list[CheckMessage]:
    """Tables of 0.1.0 cannot be upgraded; the message names the way. Connects, as above."""
    try:
        if databases:
            refuse_unreleased(connection)
    except UnreleasedVersion as error:
        return [Error(str(error), id="kilit.E011")]
    return []


@register(Tags.security, deploy=True)
def check_placeholders(**_: object) -> list[CheckMessage]:
    """The production example is public."""
    return [
        Error(f"{name} still has the placeholder of .env.production.example.", hint="Fill it in.", id="kilit.E008")
        for name in FILLED_IN
        if PLACEHOLDERS.search(os.environ.get(name, ""))
    ]


@register(Tags.security, deploy=True)
def check_production(**_: object) -> list[CheckMessage]:
    embedded = settings.DATABASES["default"]["ENGINE"] == "kilit.postgres"
    lost = "Stored credentials are encrypted with SECRET_KEY, and lost with it."
    unsafe_links = bool(settings.EMAIL_HOST) and not settings.PUBLIC_URL.startswith("https://")
    links = f"Links in e-mails, also those to a new password, begin with {settings.PUBLIC_URL}."
    warnings = [
        (not settings.PRODUCTION, "KILIT_PRODUCTION is off.", "Set it to true.", "kilit.W001"),
        (embedded, "The embedded PostgreSQL is for one machine.", "Set DATABASE_URL.", "kilit.W002"),
        (not settings.CREDENTIAL_KEYS, lost, "Set KILIT_CREDENTIAL_KEYS to a long random string.", "kilit.W007"),
        (unsafe_links, links, "Set KILIT_PUBLIC_URL to the console's https address.", "kilit.W009"),
    ]
    return [Warning(text, hint=hint, id=number) for applies, text, hint, number in warnings if applies]

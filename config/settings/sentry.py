"""Reports errors to Sentry, if SENTRY_DSN is set, without personal data.

What leaves: the exception, its stack without values of variables, the log message, the path of the request and its id.
Texts are masked as in our logs and lists.
"""

import re
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ImproperlyConfigured

from config.settings.logs import redact
from kilit.api.request_id import request_id
from kilit.masking import mask_personal_data
from kilit.trace import current_trace

if TYPE_CHECKING:
    from sentry_sdk.transport import Transport

NOT_INSTALLED = "SENTRY_DSN is set, but sentry-sdk is not installed: install the extra `sentry`."
QUERY = re.compile(r"\?[^\s\"'<>]+")  # may hold click ids and tokens
# Click ids, hashes of e-mail addresses, tokens. Our own ids are shorter or have dashes at their places.
LONG_TOKEN = re.compile(r"(?<![\w-])[\w-]{41,}")
KEPT_HEADERS = {"user-agent", "content-type", "content-length", "x-request-id"}
KEPT_OF_REQUEST = {"method", "url", "headers"}
REMOVED = {"user", "breadcrumbs", "extra"}  # `extra` has the command line, and whatever libraries log
OF_OUR_CODE = {"frames", "modules", "sdk", "contexts", "debug_meta"}  # names of files and functions: no data


def start_sentry(
    dsn: str, *, errors_percent: int, traces_percent: int, release: str = "", transport: "type[Transport] | None" = None
) -> None:
    try:
        import sentry_sdk  # an optional package
        from sentry_sdk.integrations.django import DjangoIntegration
        from sentry_sdk.utils import BadDsn
    except ImportError:
        raise ImproperlyConfigured(NOT_INSTALLED) from None
    try:
        sentry_sdk.init(
            dsn,
            release=release,  # empty rather than None, for which every process would start git
            sample_rate=errors_percent / 100,
            traces_sample_rate=traces_percent / 100,
            before_send=scrub,
            before_send_transaction=scrub,
            # Without `send_default_pii`, which newer versions warn about, no personal data is collected.
            include_local_variables=False,
            max_request_body_size="never",
            max_breadcrumbs=0,
            trace_propagation_targets=[],  # nothing of Sentry's in requests to receivers of webhooks and to Google
            auto_enabling_integrations=False,  # of other libraries, which report what they send and receive
            integrations=[DjangoIntegration(middleware_spans=False)],
            transport=transport,
        )
    except BadDsn:
        raise ImproperlyConfigured("SENTRY_DSN is not of the form https://key@host/project.") from None


def scrub(event: Any, _hint: object) -> Any:
    """Remove what may identify a person or open a door, and add the ids that our log lines have."""
    for part in REMOVED:
        event.pop(part, None)
    if request := event.get("request"):
        request["headers"] = {
            name: value for name, value in request.get("headers", {}).items() if name.lower() in KEPT_HEADERS
        }
        event["request"] = {name: value for name, value in request.items() if name in KEPT_OF_REQUEST}
    trace = current_trace()
    ids = {"request_id": request_id.get(), "trace_id": trace.trace_id if trace else ""}
    event["tags"] = {**dict(event.get("tags") or {}), **{name: value for name, value in ids.items() if value}}
    return _masked(event)


def _masked(value: object) -> object:
    if isinstance(value, str):
        return LONG_TOKEN.sub("***", QUERY.sub("?***", mask_personal_data(redact(value))))
    if isinstance(value, dict):
        return {key: _without_values(one) if key in OF_OUR_CODE else _masked(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_masked(one) for one in value]
    return value


def _without_values(frames: object) -> object:
    """Remove the values of variables, in case an integration has added them."""
    if isinstance(frames, list):
        return [{key: one for key, one in frame.items() if key != "vars"} for frame in frames]
    return frames

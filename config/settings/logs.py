"""Logging: one JSON object per line, with request id, trace and actor, without secrets or personal data."""

import logging
import re
import time
from typing import Any

from django.utils.log import CallbackFilter
from pythonjsonlogger.json import JsonFormatter as BaseFormatter

from kilit.api.request_id import request_id
from kilit.lock.audit import current_context
from kilit.trace import current_trace

# What must never be logged, even by a library: keys, tokens, links to a PDF or to a new password, passwords in URLs,
# and PostgreSQL's DETAIL lines, which quote whole rows.
SECRETS = [
    (re.compile(r"kilit_[A-Za-z0-9_-]{8,}"), "kilit_***"),
    (re.compile(r"(?i)(bearer|x-api-key:?|token)(\s+|=)[A-Za-z0-9._~+/-]{8,}=*"), r"\1 ***"),
    (re.compile(r"(/pdf/links/|/order-status/|/piece/)\s*(?:\\[^n]|[^\"\\\s])+"), r"\1***"),
    (re.compile(r"(/admin/password-reset/)(?!done/|complete/)(?:\\[^n]|[^\"\\\s])+"), r"\1***"),
    (re.compile(r"(://[^\s:/@]+):[^\s@/]+@"), r"\1:***@"),
    (re.compile(r"DETAIL:[^\n]*?(?=\\n|\n|$)"), "DETAIL: ***"),
]

LONGEST_LINE = 300  # characters


class ContextFilter(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = request_id.get()
        record.actor = current_context().actor
        trace = current_trace()
        record.trace_id, record.span_id = (trace.trace_id, trace.span_id) if trace else ("", "")
        return True


class RedactingFilter(logging.Filter):
    """For loggers with a format of their own, as gunicorn's."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = redact(record.getMessage()), ()
        return True


class OneLineFilter(logging.Filter):
    """For what strangers cause at will: a warning without Django's traceback, and no more than a line of it."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.levelno, record.levelname = logging.WARNING, logging.getLevelName(logging.WARNING)
        record.msg, record.args, record.exc_info = record.getMessage()[:LONGEST_LINE], (), None
        return True


class JsonFormatter(BaseFormatter):
    def __init__(self) -> None:
        super().__init__(
            "{asctime}{levelname}{name}{message}{request_id}{trace_id}{span_id}{actor}",
            style="{",
            rename_fields={"asctime": "time", "levelname": "level", "name": "logger"},
            json_ensure_ascii=False,
        )
        self.default_msec_format = "%s.%03dZ"
        self.converter = time.gmtime

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))

    def process_log_record(self, log_data: dict[str, object]) -> dict[str, object]:
        """Drop empty values, and Django's request, whose query may hold click ids."""
        log_data.pop("request", None)
        return {key: value for key, value in super().process_log_record(log_data).items() if value not in ("", None)}


def redact(text: str) -> str:
    for pattern, instead in SECRETS:
        text = pattern.sub(instead, text)
    return text


def logging_to_stderr(level: str) -> dict[str, Any]:
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {
            "context": {"()": "config.settings.logs.ContextFilter"},
            "one_line": {"()": "config.settings.logs.OneLineFilter"},
            "exceptions_only": {"()": CallbackFilter, "callback": lambda record: record.exc_info},
        },
        "formatters": {"json": {"()": "config.settings.logs.JsonFormatter"}},
        "handlers": {
            "stderr": {"class": "logging.StreamHandler", "formatter": "json", "filters": ["context"]},
            "nowhere": {"class": "logging.NullHandler"},
        },
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # Without Django's own handlers, which would print a second, unstructured copy.
            "django": {"handlers": [], "propagate": True},
            "django.server": {"handlers": [], "propagate": True},
            # config.web.middleware logs every request; Django only adds tracebacks.
            "django.request": {"filters": ["exceptions_only"]},
            # A host name that is not ours, which scanners send all day, and an unknown parameter of a list.
            "django.security.DisallowedHost": {"filters": ["one_line"]},
            "django.security.DisallowedModelAdminLookup": {"filters": ["one_line"]},
            # It logs every doorbell; our own log has the results.
            "django-q": {"handlers": ["stderr"], "level": "WARNING", "propagate": False},
            # Google's client logs whole requests, including click ids, when one fails.
            "google.ads.googleads.client": {"level": "CRITICAL"},
            # At DEBUG its login logs requests and tokens.
            "google.auth": {"level": "INFO"},
            "google.oauth2": {"level": "INFO"},
            # What they log may contain the tokens of alert channels.
            "apprise": {"handlers": ["nowhere"], "propagate": False},
            "urllib3.connectionpool": {"level": "INFO"},
            # It logs every step of every login.
        },
    }

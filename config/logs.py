"""Logs: one JSON object a line, with request id and actor, and without secrets or personal data."""

import logging
import re
import time
from typing import Any

from pythonjsonlogger.json import JsonFormatter as BaseFormatter

from kilit.api.request_id import request_id
from kilit.lock.audit import current_context

# What must not reach a log even when a library writes it: keys, tokens, passwords in addresses, and PostgreSQL's
# DETAIL lines, which quote whole rows.
SECRETS = [
    (re.compile(r"kilit_[A-Za-z0-9_-]{8,}"), "kilit_***"),
    (re.compile(r"(?i)(bearer|x-api-key:?|token)(\s+|=)[A-Za-z0-9._~+/-]{8,}=*"), r"\1 ***"),
    (re.compile(r"(://[^\s:/@]+):[^\s@/]+@"), r"\1:***@"),
    (re.compile(r"DETAIL:[^\n]*?(?=\\n|\n|$)"), "DETAIL: ***"),
]


class ContextFilter(logging.Filter):
    """Adds what the current request and actor are to each record."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = request_id.get()
        record.actor = current_context().actor
        return True


class ExceptionsOnly(logging.Filter):
    """Lets through what has a traceback."""

    def filter(self, record: logging.LogRecord) -> bool:
        return bool(record.exc_info)


class JsonFormatter(BaseFormatter):
    """A line of JSON that starts with time, level and message."""

    def __init__(self) -> None:
        super().__init__(
            "{asctime}{levelname}{name}{message}{request_id}{actor}",
            style="{",
            rename_fields={"asctime": "time", "levelname": "level", "name": "logger"},
            json_ensure_ascii=False,
        )
        self.default_msec_format = "%s.%03dZ"
        self.converter = time.gmtime

    def format(self, record: logging.LogRecord) -> str:
        """Render the record, then take the secrets out of whatever was written."""
        return redacted(super().format(record))

    def process_log_record(self, log_data: dict[str, Any]) -> dict[str, Any]:
        """Leave out what is empty, and Django's request, whose query may hold click ids."""
        log_data.pop("request", None)
        return {key: value for key, value in super().process_log_record(log_data).items() if value not in ("", None)}


def redacted(text: str) -> str:
    for pattern, instead in SECRETS:
        text = pattern.sub(instead, text)
    return text


def logging_to_stderr(level: str) -> dict[str, Any]:
    """Return the settings of logging: a line of JSON for each thing that happened."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {
            "context": {"()": "config.logs.ContextFilter"},
            "exceptions_only": {"()": "config.logs.ExceptionsOnly"},
        },
        "formatters": {"json": {"()": "config.logs.JsonFormatter"}},
        "handlers": {
            "stderr": {"class": "logging.StreamHandler", "formatter": "json", "filters": ["context"]},
        },
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # Django's own handlers would print a second, unstructured copy.
            "django": {"handlers": [], "propagate": True},
            "django.server": {"handlers": [], "propagate": True},
            # Every request has its line already (config.middleware); what Django adds is the traceback.
            "django.request": {"filters": ["exceptions_only"]},
            # A line for each doorbell would drown the rest; our own log tells what was done.
            "django-q": {"handlers": ["stderr"], "level": "WARNING", "propagate": False},
            # Google's client prints whole requests, click ids and all, when one fails.
            "google.ads.googleads.client": {"level": "CRITICAL"},
            # It tells each step of each login; what matters is at WARNING.
            "axes": {"level": "WARNING"},
        },
    }

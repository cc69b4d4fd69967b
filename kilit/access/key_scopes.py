"""Scopes of API keys: what a key may be used for, of all that its user may do.

An endpoint says which scope it needs (kilit.api.openapi). Other views need `read`, or `operate` if they change
something.
"""

from typing import Any

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

READING = ("GET", "HEAD", "OPTIONS")


class KeyScope(TextChoices):
    ENQUEUE = "enqueue", _("Send conversions, adjustments, documents and orders")
    SCRIPT = "script", _("Claim and acknowledge conversions, as the Ads Script does")
    READ = "read", _("Look up, list, download and export")
    OPERATE = "operate", _("Act on jobs and documents, and manage webhook endpoints")


def needed_scope(method: str, view: Any) -> str:
    """Return the scope that a key needs for a method of a view."""
    endpoint = getattr(getattr(view, method.lower(), None), "endpoint", None)
    if endpoint is not None:
        return str(endpoint.scope)
    return KeyScope.READ if method in READING else KeyScope.OPERATE

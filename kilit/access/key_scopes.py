"""Scopes of API keys: what a key may be used for, of all that its user may do.

An endpoint says which scope it needs (kilit.api.openapi). Other views need `read`, or `operate` if they change
something. The scope `admin` is of a key of its own, which owners issue: see docs/decisions/0022-admin-keys.md.
"""

from collections.abc import Collection

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

READING = ("GET", "HEAD", "OPTIONS")


class KeyScope(TextChoices):
    ENQUEUE = "enqueue", _("Send %(what)s")
    SCRIPT = "script", _("Claim and acknowledge conversions, as the Ads Script does")
    READ = "read", _("Ask, look up, list, download and export")
    OPERATE = "operate", _("Act on jobs, pause, and manage webhook endpoints")
    ADMIN = "admin", _("Manage many sites, their members, keys, logins and webhooks; a key with it is for nothing else")


DEFAULT_SCOPES: list[str] = [scope for scope in KeyScope.values if scope != KeyScope.ADMIN]


def needed_scope(method: str, view: object, held: Collection[str]) -> str:
    """Return the scope that a key needs for a method of a view; some views take a key with `admin` as well."""
    if KeyScope.ADMIN in held and getattr(view, "takes_admin_keys", False):
        return KeyScope.ADMIN
    endpoint = getattr(getattr(view, method.lower(), None), "endpoint", None)
    if endpoint is not None:
        return str(endpoint.scope)
    return KeyScope.READ if method in READING else KeyScope.OPERATE

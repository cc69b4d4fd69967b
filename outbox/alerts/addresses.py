"""Which addresses a channel may have, and how they are shown.

Addresses of apprise may lead to any host, also to private ones, and apprise connects to them without our checks. So
only owners enter those; everyone else may use the services below, whose hosts no one can point elsewhere.
"""

import re
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils.translation import gettext as _

from kilit.access.encryption import DecryptionError
from kilit.access.unset import unset_mail
from kilit.masking import mask_personal_data
from outbox.models import Channel
from outbox.models.channel import ChannelKind

# They write to this machine, or show something on its screen.
LOCAL = {"file", "syslog", "dbus", "kde", "qt", "glib", "gnome", "macosx", "windows"}
# Hosts of services for everyone: ntfy, and workflows of Microsoft Teams.
PUBLIC_HOSTS = re.compile(r"^(ntfy\.sh|[a-z0-9.-]+\.(logic\.azure\.com|api\.powerplatform\.com))$")


def check_address(kind: str, text: str, *, may_name_hosts: bool) -> None:
    if kind == ChannelKind.EMAIL:
        if missing := unset_mail():
            raise ValidationError(missing)
        validate_email(text)
        return
    if find_spec("apprise") is None:
        raise ValidationError(_("This server only sends e-mails: the extra “alerts” is not installed."))
    # Native addresses, such as https://hooks.slack.com/…, are recognised too.
    service = new_service(text) if urlsplit(text).scheme.lower() not in LOCAL else None
    if service is None:
        raise ValidationError(_("This is not an address that apprise can send to."))
    if not may_name_hosts and (host := named_host(service)) and not PUBLIC_HOSTS.match(host.lower()):
        raise ValidationError(_("Only owners may use a server of their own (%(host)s).") % {"host": host})


def new_service(text: str) -> Any:
    """Return apprise's object for an address, or None; it follows no redirects and stores nothing."""
    if find_spec("apprise") is None:
        return None
    # Imported late: apprise loads over a hundred modules, and most processes send no alerts.
    import apprise

    asset = apprise.AppriseAsset(
        app_id="Kilit",
        app_desc="Kilit",
        app_url=settings.PUBLIC_URL,
        async_mode=False,
        http_redirects=False,
        storage_mode="memory",
        allow_templates=False,
    )
    return apprise.Apprise.instantiate(text, asset=asset, suppress_exceptions=True)


def named_host(service: Any) -> str:
    """Return the host that an address names, if it names one; tokens of fixed services stand in the same place."""
    names_host = any("{host}" in template for template in service.templates)
    is_fixed = getattr(service, "mode", "") == "cloud"  # ntfy://topic
    return str(service.host or "") if names_host and not is_fixed else ""


def shown_address(channel: Channel) -> str:
    try:
        address = channel.address
    except DecryptionError:
        return "-"
    return mask_personal_data(address) if channel.kind == ChannelKind.EMAIL else f"{urlsplit(address).scheme}://…"

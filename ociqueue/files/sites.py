"""The columns of a file of sites: what Google's queue stores about a site, and how the text of a cell is read."""

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext as _

from kilit.sites.site_files import SiteFile
from ociqueue.models import Site
from ociqueue.models.credentials import check_customer_id
from ociqueue.states import DeniedConsent, SyncMethod

YES, NO = {"yes", "true", "1", "evet"}, {"no", "false", "0", "hayır", "hayir"}


def _read(name: str, text: str, site: Site) -> Any:
    match name:
        case "customerId":
            return check_customer_id(site, text)
        case "currency":
            return text.upper()
        case "sender":
            return _read_sender(text, site)
        case "deniedConsent":
            return _read_choice(text.upper(), DeniedConsent.values)
        case "requeueTransient" | "acceptIdentifiers":
            if text.casefold() not in YES | NO:
                raise ValueError(_("Use yes or no."))
            return text.casefold() in YES
    return text


def _read_choice(text: str, values: Sequence[str]) -> str:
    if text not in values:
        raise ValueError(_("Use one of %(values)s.") % {"values": ", ".join(values)})
    return text


def _read_sender(text: str, site: Site) -> str:
    _read_choice(text, SyncMethod.values)
    if site.pk and text != site.sync_method:
        raise ValueError(_("Change the sender on the site's page, which shows what becomes of its rows."))
    return text


SITES = SiteFile(
    {
        "name": "name",
        "customerId": "customer_id",
        "currency": "default_currency",
        "timeZone": "time_zone",
        "sender": "sync_method",
        "requeueTransient": "requeue_transient",
        "acceptIdentifiers": "accepts_identifiers",
        "deniedConsent": "denied_consent",
    },
    _read,
)

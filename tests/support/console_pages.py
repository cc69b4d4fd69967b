"""The pages that are looked over and pictured; a new page is one more line here."""

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User

from kilit.batches.models import BulkAction
from ociqueue.models import Circuit, Conversion, Site
from orchestrator.models import Job
from outbox.models import OutboxMessage
from pdfjobs.models import PdfJob
from tests.support.drafts import IMPORT, NEW
from tests.support.drafts import LIST as DRAFTS


@dataclass
class House:
    """What is there to be seen: the demo, jobs that wait for a person, what somebody did in bulk, and was refused."""

    site: Site
    failed: Conversion
    held: Job
    broken: PdfJob
    bulk: BulkAction
    circuit: Circuit
    unsent: OutboxMessage
    person: User
    logins: dict[str, Any]


def places(house: House) -> dict[str, str]:
    """Return each page's name and address."""
    rows = "/admin/ociqueue/conversion/"
    row = f"{rows}{house.failed.pk}"
    return {
        "dashboard": "/admin/",
        "workers": "/admin/workers/",
        "conversions": rows,
        "failed-conversions": f"{rows}?status=FAILED",
        "error-groups": f"{rows}groups/",
        "import": f"{rows}import/",
        "conversion": f"{row}/change/",
        "confirm": f"{row}/retry/",
        "bulk-confirm": f"{rows}all/retry/?status=FAILED",
        "bulk-action": f"/admin/bulk/bulkaction/{house.bulk.pk}/change/",
        "adjustments": "/admin/ociqueue/adjustment/",
        "uploads": "/admin/ociqueue/uploadbatch/",
        **site_places(house),
        "pdf-jobs": "/admin/pdfjobs/pdfjob/",
        "pdf-job": f"/admin/pdfjobs/pdfjob/{house.broken.pk}/change/",
        "cutting-jobs": "/admin/orchestrator/job/",
        "cutting-job": f"/admin/orchestrator/job/{house.held.pk}/change/",
        "drafts": DRAFTS,
        "new-order": NEW,
        "import-sheet": IMPORT,
        "customers": "/admin/orchestrator/customer/",
        "rules": "/admin/orchestrator/rulesversion/",
        **outbox_places(house),
        "activity": "/admin/lock/activity/",
        "problems": "/admin/problems/problemrecord/",
        **access_places(house),
        "preferences": "/admin/preferences/",
    }


def access_places(house: House) -> dict[str, str]:
    return {
        "keys": "/admin/access/apikey/",
        "add-key": "/admin/access/apikey/add/",
        "refusals": "/admin/access/deniedrequest/",
        "lockouts": "/admin/access/loginwindow/",
        "people": "/admin/auth/user/",
        "person": f"/admin/auth/user/{house.person.pk}/change/",
    }


def site_places(house: House) -> dict[str, str]:
    site, other = (f"/admin/ociqueue/site/{pk}" for pk in (house.site.pk, house.circuit.site_id))
    return {
        "sites": "/admin/ociqueue/site/",
        "import-sites": "/admin/ociqueue/site/import/",
        "import-members": "/admin/ociqueue/site/import-members/",
        "site": f"{site}/change/",
        "ads-script": f"{site}/ads-script/",
        "members": f"{site}/members/",
        "settings": f"{site}/settings/",
        "credentials": f"{site}/credentials/",
        "google-counts": f"{other}/google-counts/",
        "circuit": f"{other}/circuit/",
    }


def outbox_places(house: House) -> dict[str, str]:
    endpoint = f"/admin/outbox/endpoint/{house.unsent.endpoint_id}/"
    return {
        "messages": "/admin/outbox/outboxmessage/",
        "message": f"/admin/outbox/outboxmessage/{house.unsent.pk}/change/",
        "endpoints": "/admin/outbox/endpoint/",
        "endpoint": f"{endpoint}change/",
        "add-endpoint": "/admin/outbox/endpoint/add/",
        "edit-endpoint": f"{endpoint}settings/",
        "rotate-secret": f"{endpoint}rotate-secret/",
        "add-channel": "/admin/outbox/channel/add/",
        "switch-on-endpoint": f"{endpoint}switch-on/",
    }

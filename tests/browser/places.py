"""The pages that are looked over and pictured; a new page is one more line here."""

from typing import Any

from tests.browser.conftest import House


def places(house: House) -> dict[str, str]:
    """Return each page's name and address."""
    site, row = f"/admin/ociqueue/site/{house.site.pk}", f"/admin/ociqueue/conversion/{house.failed.pk}"
    found: dict[str, Any] = {
        "dashboard": "/admin/",
        "conversions": "/admin/ociqueue/conversion/",
        "conversion": f"{row}/change/",
        "confirm": f"{row}/retry/",
        "sites": "/admin/ociqueue/site/",
        "site": f"{site}/change/",
        "ads-script": f"{site}/ads-script/",
        "credentials": f"{site}/credentials/",
        "pdf-jobs": "/admin/pdfjobs/pdfjob/",
        "pdf-job": f"/admin/pdfjobs/pdfjob/{house.broken.pk}/change/",
        "cutting-jobs": "/admin/orchestrator/job/",
        "cutting-job": f"/admin/orchestrator/job/{house.held.pk}/change/",
        "customers": "/admin/orchestrator/customer/",
        "refusals": "/admin/lifecycle/refusedrequest/",
        "lockouts": "/admin/axes/accessattempt/",
        "preferences": "/admin/preferences/",
    }
    return found

"""What outsiders might write to have a script run in an operator's browser, in every field that they can fill."""

from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from kilit.access.models import ApiKey, DenialCode, DeniedRequest
from kilit.lock.audit import acting_as
from kilit.lock.models import Event
from ociqueue.models import Conversion, Site
from orchestrator.models import Customer, Job
from pdfjobs.models import PdfJob
from tests.support.conversions import YESTERDAY
from tests.support.cutting_jobs import GOVDE, order_body
from tests.support.pdf_jobs import body

# Closes an attribute, a tag, a script and a comment; tries a handler, a script, and Alpine's attributes.
EVIL = "'\"--></script><img src=x onerror=hacked=1><b x-data x-init=hacked=2>{{7*7}}"
RAW = "<img src=x onerror"


def post(client: Client, address: str, what: Any) -> Any:
    return client.post(address, what, content_type="application/json")


# Files of conversions come from shops: a bad header is quoted back, and so is a bad cell.
FILES = {
    "header.csv": f"conversionName;gclid;{EVIL}\n".encode(),
    "cell.csv": f"conversionName;gclid;conversionTime;conversionValue\nX;y;{EVIL};{EVIL}\n".encode(),
}


def outsiders_write(site: Site) -> None:
    """Write it into every field that can be filled without a login to the console."""
    script = Client(headers={"x-api-key": site.issue_key(name=EVIL)})
    item = {
        "conversionName": EVIL,
        "conversionTime": YESTERDAY,
        "conversionValue": 1,
        "conversionCurrency": "TRY",
    }
    items = [item | {"gclid": f"xss-{number}", "sourceKey": EVIL + str(number)} for number in range(2)]
    created = post(script, "/api/oci/conversions", {"siteId": site.public_id, "conversions": items}).json()
    assert created["created"] == 2, created
    Conversion.objects.filter(gclid__startswith="xss-").claim(limit=10)
    ids = [str(row) for row in Conversion.objects.filter(gclid__startswith="xss-")]
    failed = {"siteId": site.public_id, "queueIds": ids[:1], "errorCategory": "VALIDATION"}
    failed |= {"errorCode": EVIL[:64], "errorMessage": EVIL}
    assert post(script, "/api/oci/ack-failed", failed).status_code in (200, 400)
    assert post(script, "/api/oci/ack-failed", failed | {"errorCode": "X"}).status_code == 200

    shop = Client(headers={"x-api-key": ApiKey.objects.issue(User.objects.get(username="demo-service"), name=EVIL)[1]})
    part = GOVDE | {"color": EVIL[:60], "id": EVIL[:40], "material_code": EVIL[:40], "note": EVIL, "info": EVIL}
    for number, parts in enumerate(([part], [GOVDE | {"color": EVIL[:60]}])):
        post(shop, "/jobs", order_body(order_id=f"{EVIL[:40]}{number}", parts=parts))
    post(shop, "/jobs", order_body(order_id="xss"))
    post(shop, "/customers", {"phone": "0532 111 22 33", "name": EVIL})
    sample = body()["variables"]
    variables = {
        name: EVIL if isinstance(value, str) and "date" not in name else value for name, value in sample.items()
    }
    post(shop, "/pdf/jobs", body(variables=variables))
    post(shop, "/pdf/jobs", body(variables=sample | {"notes": EVIL}))

    Client().post("/admin/login/", {"username": EVIL, "password": "x"}, headers={"user-agent": EVIL})
    DeniedRequest.objects.record(actor=EVIL, method="GET", path=f"/admin/{EVIL}", code=DenialCode.FORBIDDEN)


def fill_the_rest(site: Site) -> None:
    """Write it where our own programs copy outsiders' words to, whatever the doors let through."""
    hold = Job.objects.filter(status="HOLD").earliest("pk")
    Job.objects.filter(pk=hold.pk).update(error_message=EVIL)
    Customer.objects.create(phone="+905321112244", name=EVIL)
    PdfJob.objects.filter(status="failed").update(payload={"number": EVIL, EVIL: [EVIL]})
    with acting_as(EVIL):
        for row in (
            hold,
            *Conversion.objects.filter(gclid__startswith="xss-"),
            PdfJob.objects.filter(status="failed").first(),
        ):
            Event.objects.record(row, "NOTED", message=EVIL)
    Site.objects.filter(pk=site.pk).update(name=EVIL, is_paused=True, pause_reason=EVIL)
    User.objects.filter(username="demo-viewer").update(username=EVIL, first_name=EVIL)

"""Probing the open circuits of a site now, as an operator asks for once the cause is fixed."""

from django.db import transaction
from django.utils.translation import gettext as _

from kilit.lock.models import Activity, ActivityKind, Event
from kilit.workers import doorbells
from kilit.workers.models import Heartbeat
from ociqueue.models import Circuit, Conversion, Credentials, Site
from ociqueue.operating.site_health import open_circuits
from ociqueue.states import CIRCUITS

PROBE_ASKED = "PROBE_ASKED"


@transaction.atomic
def request_probe(site: Site) -> int:
    """Let the next due row be the probe of each open circuit; return how many there are."""
    circuits = open_circuits([site.pk])
    Event.objects.record_each(circuits, PROBE_ASKED)
    Activity.objects.record(ActivityKind.ACTION, PROBE_ASKED, queue=CIRCUITS.queue, scope=str(site.pk))
    doorbells.ring("oci_upload")
    return circuits.probe_now()


def next_probe_of(site: Site) -> str:
    """Say when the probe is sent that was requested."""
    names = set(open_circuits([site.pk]).values_list("action", flat=True))
    rows = Conversion.objects.for_site(site).due()
    waiting = rows if Circuit.EVERY_ACTION in names else rows.filter(action__in=names)
    if site.is_paused:
        return _("The site is paused: the probe is sent when the pause ends.")
    if not Credentials.objects.filter(site=site).exists():
        return _("The site has no credentials: the probe is sent when they are stored.")
    if not waiting.exists():
        return _("No row is due: the next due row is sent as the probe.")
    if not Heartbeat.objects.alive().exists():
        return _("No worker is running: the row with the fewest attempts is sent as the probe when one starts.")
    return _("The row with the fewest attempts is sent as the probe within seconds.")

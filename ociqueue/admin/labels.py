"""What sites, conversions and uploads are called in the console."""

from django.utils.translation import gettext_lazy as _

from kilit.console.labels import label
from ociqueue.models import Conversion, Site, SiteMembership, UploadBatch

label(
    Site,
    _("site"),
    _("sites"),
    public_id=_("public id"),
    name=_("name"),
    time_zone=_("time zone"),
    default_currency=_("default currency"),
    sync_method=_("sync method"),
    is_paused=_("is paused"),
    pause_reason=_("pause reason"),
    requeue_transient=_("requeue transient"),
    last_export_at=_("last export at"),
    last_ack_at=_("last ack at"),
    created_at=_("created at"),
)
label(SiteMembership, _("site membership"), _("site memberships"), site=_("site"), user=_("user"), role=_("role"))
label(
    Conversion,
    _("conversion"),
    _("conversions"),
    site=_("site"),
    action=_("conversion name"),
    conversion_time=_("conversion time"),
    replaces=_("replaces"),
    attempt_count=_("attempt count"),
    attempts_forgiven=_("attempts forgiven"),
    claimed_at=_("claimed at"),
    next_retry_at=_("next retry at"),
    uploaded_at=_("uploaded at"),
    last_error=_("last error"),
    provider_error_code=_("provider error code"),
    provider_request_id=_("provider request id"),
    created_at=_("created at"),
    updated_at=_("updated at"),
)
label(
    UploadBatch,
    _("upload batch"),
    _("upload batches"),
    site=_("site"),
    created_at=_("created at"),
    sent_at=_("sent at"),
    answered_at=_("answered at"),
    request_id=_("request id"),
    accepted=_("accepted"),
    failed=_("failed"),
    put_off=_("put off"),
    late=_("late"),
    note=_("note"),
)

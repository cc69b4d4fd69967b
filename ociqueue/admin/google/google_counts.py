"""A site's counts beside Google's, by day and conversion action."""

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.formats import date_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.admin import ModelAdmin

from kilit.console.formatting import badge, number
from kilit.workers import doorbells
from kilit.workers.models import Heartbeat
from ociqueue.admin.base.site_header import site_address, site_page
from ociqueue.models import Credentials, ReadBack, Site
from ociqueue.problems.site_faults import compare_counts, unseen_errors
from ociqueue.reconcile.compare import DIFFERENCES, Finding
from ociqueue.states import SyncMethod

LABELS = {
    Finding.MISSING: gettext_lazy("Google has fewer"),
    Finding.STILL_PENDING: gettext_lazy("still pending"),
    Finding.MORE: gettext_lazy("Google has more"),
    Finding.OTHER_CLIENT: gettext_lazy("another uploader"),
    Finding.MORE_FAILED: gettext_lazy("failed at Google"),
}
NOTES = {
    Finding.MISSING: gettext_lazy("%(missing)s of them are missing at Google."),
    Finding.STILL_PENDING: gettext_lazy("Google has not processed %(pending)s of them for more than 24 hours."),
    Finding.MORE: gettext_lazy("Something else uploads to this action, or a report of an upload was lost."),
    Finding.OTHER_CLIENT: gettext_lazy("%(elsewhere)s more did not come through the Google Ads API."),
    Finding.MORE_FAILED: gettext_lazy("They failed after Google had accepted them."),
}


def counts_page(model_admin: ModelAdmin, request: HttpRequest, site: Site) -> HttpResponse:
    stored = ReadBack.objects.filter(site=site).select_related("site").first()
    is_waiting = bool(stored and stored.asked_at and (not stored.tried_at or stored.asked_at > stored.tried_at))
    return site_page(
        model_admin,
        request,
        site,
        "google_counts",
        title=_("Google's counts of %(site)s") % {"site": site},
        stored=stored,
        result=compare_counts(stored) if stored and stored.compared_at else None,
        rows=[count_row(row) for row in stored.days] if stored else [],
        notes=list(unseen_errors(stored)) if stored else [],
        is_waiting=is_waiting,
        no_worker=not Heartbeat.objects.alive().exists(),
        is_data_manager=site.sync_method == SyncMethod.DATA_MANAGER,
        is_script=site.sync_method == SyncMethod.SCRIPT,
        has_login=Credentials.objects.filter(site=site).exists(),
        credentials=site_address(site, "credentials"),
        script=site_address(site, "ads_script"),
    )


def request_reading(_model_admin: ModelAdmin, request: HttpRequest, site: Site) -> None:
    if site.sync_method == SyncMethod.API and Credentials.objects.filter(site=site):
        ReadBack.objects.request(site)
        doorbells.ring("oci_reconcile")
    else:
        messages.warning(request, _("Google's counts are read only for sites with a login for the Google Ads API."))


def count_row(row: Mapping[str, Any]) -> dict[str, object]:
    google = row["google"]
    total = sum(google.values())
    findings = [Finding(name) for name in row["findings"]]
    badges = [badge(str(LABELS[finding]), "danger" if finding in DIFFERENCES else "info") for finding in findings]
    rejected = _("%(number)s rejected at once") % {"number": number(row["failed"])} if row["failed"] else ""
    sentences = format_html_join("", '<span class="block kilit-hint">{}</span>', zip(_sentences(row, findings)))
    shown = format_html_join("", "{}", zip(badges or [_without_finding(row, total)]))
    return {
        _("Day"): format_html('<span class="kilit-short">{}</span>', date_format(date.fromisoformat(row["day"]))),
        _("Conversion action"): format_html("<span data-stored>{}</span>", row["name"]),
        _("We sent"): format_html(
            '{} <span class="kilit-hint">{}</span>', number(row["accepted"] + row["failed"]), rejected
        ),
        _("Google has"): number(total),
        _("Successful"): number(google["successful"]),
        _("Failed"): number(google["failed"]),
        _("Pending"): number(google["pending"]),
        _("Result"): format_html("{}{}", shown, sentences),
    }


def _without_finding(row: Mapping[str, Any], total: int) -> SafeString:
    if total < row["accepted"] + row["failed"]:
        return badge(_("not counted yet"), title=_("Google takes up to 24 hours."))
    if row["google"]["pending"]:
        return badge(_("pending"), title=_("Google takes up to 24 hours."))
    return badge(_("agrees"), "success")


def _sentences(row: Mapping[str, Any], findings: list[Finding]) -> Iterator[str]:
    google = row["google"]
    context = {
        "missing": number(row["due"] - sum(google.values())),
        "pending": number(google["pending"]),
        "elsewhere": number(row["elsewhere"]),
    }
    for finding in findings:
        yield str(NOTES[finding]) % context
    if row["unknown"]:
        yield _("Whether Google received %(number)s more is not known.") % {"number": number(row["unknown"])}

"""A site's Google Ads credentials in the console: stored, tested, and never shown."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import override

from kilit.access.encryption import DecryptionError
from kilit.console.formatting import page
from kilit.workers import doorbells
from kilit.workers.models import Heartbeat
from ociqueue.admin.login_form import LABELS, OAUTH, SERVICE_ACCOUNT, LoginForm
from ociqueue.admin.moving import confirmation, with_open_rows
from ociqueue.admin.permissions import may_administer, may_run, site_of
from ociqueue.admin.site_header import header_context
from ociqueue.models import Credentials, Site
from ociqueue.models.credentials import GoogleAdsAccount
from ociqueue.states import UPLOADED_HERE
from ociqueue.unsettled import UnsettledRows, unsettled_rows


def credentials_page(model_admin: Any, request: HttpRequest, object_id: str) -> HttpResponse:
    """Show which parts are stored and what the last test found; a site's admins store credentials here."""
    site = site_of(model_admin, request, object_id)
    is_change = request.method == "POST"
    if is_change and not may_administer(request.user, site):
        raise PermissionDenied
    with transaction.atomic():
        # When two admins each replace a part, the second must see what the first stored.
        rows = Credentials.objects.select_for_update() if is_change else Credentials.objects.all()
        stored = rows.filter(site=site).first()
        account, error = _decrypt(stored)
        open_rows = unsettled_rows(site)
        form = LoginForm(
            *((request.POST, request.FILES) if is_change else ()),
            stored=account,
            confirmation=confirmation(site, open_rows, _("Move to another account")) if open_rows else None,
        )
        if form.is_valid():
            _store(model_admin, request, site, form, open_rows)
            return HttpResponseRedirect(_address(site))
    return page(
        model_admin,
        request,
        "admin/ociqueue/credentials.html",
        title=_("Google credentials of %(site)s") % {"site": site},
        original=site,
        form=form,
        to_enter_again=[LABELS[name] for name in form.entered] if form.errors else [],
        stored=stored,
        error=error,
        groups=form.groups(),
        parts=_parts(account) if account else [],
        service_account_email=account.service_account_email if account else "",
        is_waiting=stored is not None and Credentials.objects.awaiting_check().filter(pk=stored.pk).exists(),
        no_worker=not Heartbeat.objects.alive().exists(),
        is_uploaded_here=site.sync_method in UPLOADED_HERE,
        **header_context(request, site, tab="credentials"),
    )


def request_check(model_admin: Any, request: HttpRequest, object_id: str) -> HttpResponse:
    site = site_of(model_admin, request, object_id, allowed=may_run)
    stored = Credentials.objects.filter(site=site).first()
    if request.method == "POST" and stored:
        stored.request_check()
        doorbells.ring("oci_check_credentials")
    elif request.method == "POST":
        messages.warning(request, _("No credentials are stored."))
    return HttpResponseRedirect(f"{_address(site)}#check")


def _store(model_admin: Any, request: HttpRequest, site: Site, form: LoginForm, open_rows: UnsettledRows) -> None:
    Credentials.objects.store(site, form.account())
    with override(None):  # the log is read in other languages, too
        model_admin.log_change(request, site, _stored(form))
        if form.is_move:
            # Their last digits tell accounts apart; stored values are not shown again.
            before, after = form.stored["customer_id"][-4:], form.cleaned_data["customer_id"][-4:]
            moved = f"Moved from the Google account that ends in {before} to the one that ends in {after}"
            model_admin.log_change(request, site, with_open_rows(moved, open_rows))
    # Storing makes the next probe due, and a test that was requested before.
    doorbells.ring("oci_upload")
    doorbells.ring("oci_check_credentials")
    messages.success(request, _stored(form))


def _stored(form: LoginForm) -> str:
    return _("Stored credentials: %(parts)s.") % {"parts": ", ".join(form.changes())}


def _decrypt(stored: Credentials | None) -> tuple[GoogleAdsAccount | None, str]:
    try:
        return (stored.account(), "") if stored else (None, "")
    except DecryptionError as error:
        return None, str(error)


def _parts(account: GoogleAdsAccount) -> list[tuple[Any, bool]]:
    """Return which parts are stored; of the two kinds of login only the one in use is listed."""
    unused = OAUTH if account.service_account else (SERVICE_ACCOUNT,)
    return [(label, bool(getattr(account, name))) for name, label in LABELS.items() if name not in unused]


def _address(site: Site) -> str:
    return reverse("admin:ociqueue_site_credentials", args=[site.pk])

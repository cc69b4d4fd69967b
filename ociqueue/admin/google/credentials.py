"""A site's Google Ads credentials in the console: stored, tested, and never shown."""

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from unfold.admin import ModelAdmin

from kilit.console.formatting import page
from kilit.workers.models import Heartbeat
from ociqueue.admin.base.moving import confirmation
from ociqueue.admin.base.permissions import may_administer, may_run, site_of
from ociqueue.admin.base.site_header import header_context
from ociqueue.admin.google.login_form import LoginForm
from ociqueue.models import Credentials, Site
from ociqueue.operating.login_changes import (
    LABELS,
    describe,
    request_test,
    store_login,
    stored_login,
    stored_parts,
)
from ociqueue.operating.unsettled import unsettled_rows
from ociqueue.states import UPLOADED_HERE


def credentials_page(model_admin: ModelAdmin, request: HttpRequest, object_id: str) -> HttpResponse:
    """Show which parts are stored and what the last test found; a site's admins store credentials here."""
    site = site_of(model_admin, request, object_id)
    is_change = request.method == "POST"
    if is_change and not may_administer(request.user, site):
        raise PermissionDenied
    with transaction.atomic():
        # When two admins each replace a part, the second must see what the first stored.
        rows = Credentials.objects.select_for_update() if is_change else Credentials.objects.all()
        stored = rows.filter(site=site).first()
        account, error = stored_login(stored)
        open_rows = unsettled_rows(site)
        form = LoginForm(
            *((request.POST, request.FILES) if is_change else ()),
            stored=account,
            confirmation=confirmation(site, open_rows, _("Move to another account")) if open_rows else None,
        )
        if form.is_valid():
            store_login(request.user, site, form.change, open_rows)
            messages.success(request, describe(form.change))
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
        parts=[(LABELS[name], is_stored) for name, is_stored in stored_parts(account).items()] if account else [],
        service_account_email=account.service_account_email if account else "",
        is_waiting=stored is not None and Credentials.objects.awaiting_check().filter(pk=stored.pk).exists(),
        no_worker=not Heartbeat.objects.alive().exists(),
        is_uploaded_here=site.sync_method in UPLOADED_HERE,
        **header_context(request, site, tab="credentials"),
    )


def request_check(model_admin: ModelAdmin, request: HttpRequest, object_id: str) -> HttpResponse:
    site = site_of(model_admin, request, object_id, allowed=may_run)
    if request.method == "POST" and not request_test(site):
        messages.warning(request, _("No credentials are stored."))
    return HttpResponseRedirect(f"{_address(site)}#check")


def _address(site: Site) -> str:
    return reverse("admin:ociqueue_site_credentials", args=[site.pk])

"""A site's login at Google Ads in the console: written, checked, and never shown."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import override

from kilit.console.formatting import page
from kilit.workers import doorbells
from kilit.workers.models import Heartbeat
from ociqueue.admin.login_form import LABELS, LoginForm
from ociqueue.admin.reach import may_administer, may_run, site_of
from ociqueue.models import Credentials, Site
from ociqueue.models.credentials import Account
from ociqueue.models.encryption import Unreadable
from ociqueue.states import SyncMethod


def urls(model_admin: Any) -> list[URLPattern]:
    """Return the address below a site's page that a check is asked for at."""
    view = model_admin.admin_site.admin_view(lambda request, object_id: ask_for_check(model_admin, request, object_id))
    return [path("<path:object_id>/credentials/check/", view, name="ociqueue_site_check_credentials")]


def credentials_page(model_admin: Any, request: HttpRequest, object_id: str) -> HttpResponse:
    """Say what is stored and what the last check found; a site's admins store a login here."""
    site = site_of(model_admin, request, object_id)
    is_change = request.method == "POST"
    if is_change and not may_administer(request.user, site):
        raise PermissionDenied
    with transaction.atomic():
        # Two admins who each replace a part: the second has to find what the first stored.
        logins = Credentials.objects.select_for_update() if is_change else Credentials.objects.all()
        kept = logins.filter(site=site).first()
        stored, refusal = _opened(kept)
        form = LoginForm(request.POST if is_change else None, stored=stored)
        if form.is_valid():
            _store(model_admin, request, site, form)
            return HttpResponseRedirect(_address(site))
    return page(
        model_admin,
        request,
        "admin/ociqueue/credentials.html",
        title=_("Google Ads credentials of %(site)s") % {"site": site},
        original=site,
        form=form,
        kept=kept,
        refusal=refusal,
        parts=[(label, bool(getattr(stored, name))) for name, label in LABELS.items()] if stored else [],
        is_waiting=kept is not None and Credentials.objects.to_check().filter(pk=kept.pk).exists(),
        no_worker=not Heartbeat.objects.alive().exists(),
        is_api_site=site.sync_method == SyncMethod.API,
        may_administer=may_administer(request.user, site),
        may_run=may_run(request.user, site),
    )


def ask_for_check(model_admin: Any, request: HttpRequest, object_id: str) -> HttpResponse:
    """Let a worker try the login; the page waits for what it finds."""
    site = site_of(model_admin, request, object_id, allowed=may_run)
    kept = Credentials.objects.filter(site=site).first()
    if request.method == "POST" and kept:
        kept.ask_for_check()
        doorbells.ring("oci_check_credentials")
    elif request.method == "POST":
        messages.warning(request, _("There is nothing to check: no credentials are stored."))
    return HttpResponseRedirect(f"{_address(site)}#check")


def _store(model_admin: Any, request: HttpRequest, site: Site, form: LoginForm) -> None:
    Credentials.objects.store(site, form.account())
    with override(None):  # the log is read by others, in their languages
        model_admin.log_change(request, site, _stored(form))
    # The next probe is due at once; a check that was asked for before is, too.
    doorbells.ring("oci_upload")
    doorbells.ring("oci_check_credentials")
    messages.success(request, _stored(form))


def _stored(form: LoginForm) -> str:
    return _("Stored credentials: %(parts)s.") % {"parts": ", ".join(form.changes())}


def _opened(kept: Credentials | None) -> tuple[Account | None, str]:
    try:
        return (kept.account(), "") if kept else (None, "")
    except Unreadable as refusal:
        return None, str(refusal)


def _address(site: Site) -> str:
    return reverse("admin:ociqueue_site_credentials", args=[site.pk])

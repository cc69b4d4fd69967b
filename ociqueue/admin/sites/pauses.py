"""Pause and Resume of a site, in the header of its page and on the dashboard."""

from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from kilit.console.account.form_pages import back_to_page
from kilit.sites.models import Tenant
from ociqueue.admin.base.permissions import may_run, site_of
from ociqueue.admin.base.site_header import site_address

LONGEST_REASON = Tenant._meta.get_field("pause_reason").max_length


@transaction.atomic  # a pause and its record
def pause(model_admin: Any, request: HttpRequest, object_id: str) -> HttpResponse:
    site = site_of(model_admin, request, object_id, allowed=may_run)
    if request.method == "POST":
        reason = request.POST.get("reason", "").strip()[:LONGEST_REASON]
        if not reason:
            messages.error(request, _("Enter a reason for the pause."))
        elif Tenant.objects.filter(pk=site.pk).pause(reason=reason):
            model_admin.log_change(request, site, f"Paused: {reason}")
            messages.success(request, _("%(site)s is paused.") % {"site": site.name})
        else:
            messages.warning(request, _("%(site)s is already paused.") % {"site": site.name})
    return back_to_page(request, site_address(site, "change"))


@transaction.atomic
def resume(model_admin: Any, request: HttpRequest, object_id: str) -> HttpResponse:
    """End the pause that the page showed; another that began since goes on."""
    site = site_of(model_admin, request, object_id, allowed=may_run)
    if request.method == "POST":  # logging in again leads here without the form
        paused = Tenant.objects.filter(pk=site.pk)
        if "reason" in request.POST:
            paused = paused.filter(pause_reason=request.POST["reason"])
        if paused.resume():
            model_admin.log_change(request, site, "Resumed.")
            messages.success(request, _("%(site)s is resumed.") % {"site": site.name})
        elif Tenant.objects.filter(pk=site.pk, is_paused=True).exists():
            message = _("Nothing was changed: %(site)s was paused for another reason after you opened the page.")
            messages.warning(request, message % {"site": site.name})
        else:
            messages.info(request, _("%(site)s was not paused.") % {"site": site.name})
    return back_to_page(request, site_address(site, "change"))

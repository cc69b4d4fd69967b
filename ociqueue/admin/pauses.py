"""Ending a site's pause with one click."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from kilit.console.redirects import back_to_page
from ociqueue.admin.permissions import may_run, site_of
from ociqueue.models import Site


def resume(model_admin: Any, request: HttpRequest, object_id: str) -> HttpResponse:
    site = site_of(model_admin, request, object_id, allowed=may_run)
    if request.method == "POST":  # logging in again leads here without the form
        if Site.objects.filter(pk=site.pk).resume():
            model_admin.log_change(request, site, "Resumed.")
            messages.success(request, _("%(site)s is resumed.") % {"site": site.name})
        else:
            messages.info(request, _("%(site)s was not paused.") % {"site": site.name})
    return back_to_page(request, reverse("admin:ociqueue_site_change", args=[site.pk]))

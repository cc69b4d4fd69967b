"""The overview of a site (health in one sentence, numbers, 24 hours, first steps), its Ads Script and its API keys."""

from datetime import datetime
from http import HTTPStatus

from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.admin import ModelAdmin

from kilit.access.key_scopes import KeyScope
from kilit.console.admin.keys import ScopesField, format_scopes
from kilit.console.dashboard.charts import Chart
from kilit.console.dashboard.page import StateCount
from kilit.console.formatting import exactly, new_key
from kilit.console.lists.fields import text_field
from kilit.lock.models import Count
from kilit.sites import site_keys
from kilit.sites.site_keys import KeyRequest
from ociqueue.admin.base.columns import STATES
from ociqueue.admin.base.site_header import list_of, site_address, site_page
from ociqueue.admin.google.circuits import sending_context
from ociqueue.models import Site
from ociqueue.operating.site_health import site_health
from ociqueue.problems.site_faults import COPIED, describe_health, is_copied, setup_steps
from ociqueue.queue import QUEUE
from ociqueue.script.ads_script import KEY_PLACEHOLDER, render_script
from ociqueue.states import CONVERSIONS, SyncMethod


def overview(model_admin: ModelAdmin, request: HttpRequest, site: Site) -> HttpResponse:
    health = site_health([site])[site.pk]
    scopes = [str(site.pk)]
    periods = Count.objects.last_day(queue=CONVERSIONS.queue, well=QUEUE.well, badly=QUEUE.badly, scopes=scopes)
    return site_page(
        model_admin,
        request,
        site,
        "site",
        tab="change",
        title=site.name,
        health=describe_health(site, health),
        steps=setup_steps(site),
        states=[
            StateCount(state, STATES.colours[state], health.totals[state], list_of(site, status=state), label)
            for state, label in STATES.labels.items()
        ],
        last_sent=_last_sent(site),
        queue=QUEUE,
        chart=Chart(periods, 1, (list_of(site, status="COMPLETED"), list_of(site, status="FAILED"))),
        days=1,
        **sending_context(site, request),
    )


def _last_sent(site: Site) -> tuple[str, str, datetime | None]:
    if site.sync_method == SyncMethod.SCRIPT:
        return _("Last export"), list_of(site), site.last_export_at
    newest = site.upload_batches.order_by("-created_at").values_list("sent_at", flat=True).first()
    return _("Last upload"), list_of(site, "uploadbatch"), newest


# Keys as most sites need them: for one program, with what that one needs.
PRESETS = [
    (KeyScope.ENQUEUE, gettext_lazy("Shop"), gettext_lazy("Send conversions")),
    (KeyScope.SCRIPT, gettext_lazy("Ads Script"), KeyScope.SCRIPT.label),
]


class KeyForm(forms.Form):
    name = text_field(
        gettext_lazy("Name"), 100, help_text=gettext_lazy("What uses this key, so that you recognise it later.")
    )
    scopes = ScopesField()


def ads_script_page(model_admin: ModelAdmin, request: HttpRequest, site: Site, *, key: str = "") -> HttpResponse:
    """Show the script; it contains a key only right after that was issued on this page."""
    base_url = request.build_absolute_uri("/").rstrip("/")
    script = render_script(
        base_url=base_url,
        site_id=site.public_id,
        api_key=key or KEY_PLACEHOLDER,
        time_zone=site.time_zone,
    )
    return site_page(
        model_admin,
        request,
        site,
        "ads_script",
        title=_("Ads Script of %(site)s") % {"site": site},
        script=script,
        has_key=bool(key),
        unreachable_url="" if request.is_secure() else base_url,
        is_script_site=site.sync_method == SyncMethod.SCRIPT,
        keys=[(key, format_scopes(key)) for key in site.keys().all()],
        presets=PRESETS,
        after=site_keys.newest_key(site),
    )


def note_copied(model_admin: ModelAdmin, request: HttpRequest, site: Site) -> HttpResponse:
    """Record that the script was copied, once; the first steps of a new site show it."""
    if not is_copied(site):
        model_admin.log_change(request, site, COPIED)
    return HttpResponse(status=HTTPStatus.NO_CONTENT)


@transaction.atomic  # a key and its record
def issue_key(model_admin: ModelAdmin, request: HttpRequest, site: Site) -> HttpResponse | None:
    form = KeyForm(request.POST or None)
    if form.is_valid():
        name, scopes = form.cleaned_data["name"], form.cleaned_data["scopes"]
        wanted = KeyRequest(site, name, scopes)
        text = site_keys.issue_once(request.user, wanted, after=request.POST.get("after", ""))
        if not text:
            sentence = _("No key was issued: another was issued meanwhile. Revoke that one if it was lost.")
            messages.error(request, sentence)
            return None
        messages.warning(request, new_key(_("Copy the key now; it is not shown again:"), text))
        # A script with a key that cannot claim would fail on its first run.
        return ads_script_page(model_admin, request, site, key=text if KeyScope.SCRIPT in scopes else "")
    return model_admin.confirm(
        request,
        site,
        title=_("Issue a new key for %(site)s") % {"site": site},
        sentences=[
            _("With this key, a program can do what you choose below, at this site only."),
            _("It is shown once, on the next page. Existing keys stay valid until you revoke them."),
        ],
        form=form,
        kept={"after": site_keys.newest_key(site)},
        submit=_("Issue the key"),
        back=site_address(site, "ads_script"),
    )


@transaction.atomic
def revoke_key(model_admin: ModelAdmin, request: HttpRequest, site: Site, key: int) -> HttpResponse | None:
    held = get_object_or_404(site.keys(), pk=key)
    if request.method == "POST":
        revoked = site_keys.revoke_key(request.user, site, held)
        message = _("Revoked %(key)s.") if revoked else _("%(key)s was already revoked.")
        messages.success(request, message % {"key": held})
        return None
    used = (
        _("It was last used on %(time)s.") % {"time": exactly(held.used_at)}
        if held.used_at
        else _("It was never used.")
    )
    return model_admin.confirm(
        request,
        site,
        title=_("Revoke the key %(key)s") % {"key": held},
        sentences=[
            _("Programs that use this key are denied from now on. This cannot be undone."),
            used,
        ],
        submit=_("Revoke the key"),
        is_dangerous=True,
        back=site_address(site, "ads_script"),
    )

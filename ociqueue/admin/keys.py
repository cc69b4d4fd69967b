"""A site's Ads Script, ready to be pasted, and its keys: issued, listed and revoked, several at once."""

from typing import Any

from django import forms
from django.contrib import messages
from django.db import transaction
from django.db.models import Max
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminTextInputWidget

from kilit.console.formatting import exactly, page
from ociqueue.admin.reach import may_administer, site_of
from ociqueue.adsscript import KEY_PLACEHOLDER, render_script
from ociqueue.models import Site
from ociqueue.states import SyncMethod


class KeyForm(forms.Form):
    """Asks what the new key is for."""

    name = forms.CharField(
        max_length=100,
        initial="Ads Script",
        widget=UnfoldAdminTextInputWidget,
        label=gettext_lazy("Name"),
        help_text=gettext_lazy("What uses this key; it is how you recognise it later."),
    )


def urls(model_admin: Any) -> list[URLPattern]:
    """Return the addresses below a site's page."""

    def view(function: Any) -> Any:
        return model_admin.admin_site.admin_view(lambda request, **given: function(model_admin, request, **given))

    return [
        path("<path:object_id>/ads-script/issue-key/", view(issue_key), name="ociqueue_site_issue_key"),
        path("<path:object_id>/ads-script/revoke-key/<int:key>/", view(revoke_key), name="ociqueue_site_revoke_key"),
    ]


def ads_script_page(model_admin: Any, request: HttpRequest, object_id: str, *, key: str = "") -> HttpResponse:
    """Show the script, with a key in it only when that was issued from this very page."""
    site = site_of(model_admin, request, object_id)
    script = render_script(
        base_url=request.build_absolute_uri("/").rstrip("/"),
        site_id=site.public_id,
        api_key=key or KEY_PLACEHOLDER,
        time_zone=site.time_zone,
    )
    return page(
        model_admin,
        request,
        "admin/ociqueue/ads_script.html",
        title=_("Ads Script of %(site)s") % {"site": site},
        original=site,
        script=script,
        has_key=bool(key),
        is_script_site=site.sync_method == SyncMethod.SCRIPT,
        keys=site.keys(),
        may_administer=may_administer(request.user, site),
    )


def issue_key(model_admin: Any, request: HttpRequest, object_id: str) -> HttpResponse:
    """Ask what for, then make a key and show it this once."""
    site = site_of(model_admin, request, object_id, allowed=may_administer)
    form = KeyForm(request.POST or None)
    if form.is_valid():
        name = form.cleaned_data["name"]
        text = _issue_once(site, name=name, after=request.POST.get("after", ""))
        if not text:
            words = _("No key was issued: one was since you opened the page. If it was lost, revoke it first.")
            messages.error(request, words)
            return HttpResponseRedirect(_script_address(site))
        model_admin.log_change(request, site, f"Issued the key {name}.")
        messages.warning(request, _("Copy the key now, it is never shown again: %(key)s") % {"key": text})
        return ads_script_page(model_admin, request, object_id, key=text)
    return page(
        model_admin,
        request,
        "admin/console/confirm.html",
        title=_("Issue a new key for %(site)s") % {"site": site},
        original=site,
        sentences=[
            _("The key opens this site's API: whoever has it can add, claim and acknowledge its conversions."),
            _("It is shown once, on the next page. Keys already issued stay in force until you revoke them."),
        ],
        form=form,
        kept={"after": _newest(site)},
        submit=_("Issue the key"),
        back=_script_address(site),
    )


def _issue_once(site: Site, *, name: str, after: str) -> str:
    """Make a key, unless there is a newer one than the page knew of: a page sent again by a reload issues no second.

    The answer itself shows the key, so that its text is kept nowhere on the way.
    """
    with transaction.atomic():
        Site.objects.select_for_update(no_key=True).get(pk=site.pk)  # two clicks at once come one after the other
        return site.issue_key(name=name) if _newest(site) == after else ""


def _newest(site: Site) -> str:
    newest = site.keys().aggregate(Max("pk"))["pk__max"]
    return str(newest or "none")


def revoke_key(model_admin: Any, request: HttpRequest, object_id: str, key: int) -> HttpResponse:
    site = site_of(model_admin, request, object_id, allowed=may_administer)
    held = site.keys().filter(pk=key).first()
    if held is None:
        raise Http404
    if request.method == "POST":
        revoked = site.keys().filter(pk=key).revoke()
        model_admin.log_change(request, site, f"Revoked the key {held}.")
        words = _("Revoked %(key)s.") if revoked else _("%(key)s was revoked already.")
        messages.success(request, words % {"key": held})
        return HttpResponseRedirect(_script_address(site))
    used = _("It was never used.")
    if held.used_at:
        used = _("It was last used on %(time)s.") % {"time": exactly(held.used_at)}
    return page(
        model_admin,
        request,
        "admin/console/confirm.html",
        title=_("Revoke the key %(key)s") % {"key": held},
        original=site,
        sentences=[_("Whatever uses this key is refused from now on. This cannot be undone."), used],
        submit=_("Revoke the key"),
        is_dangerous=True,
        back=_script_address(site),
    )


def _script_address(site: Site) -> str:
    return reverse("admin:ociqueue_site_ads_script", args=[site.pk])

"""What can be done with many sites at once, and with one from its header: pause, resume, archive, restore."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django_stubs_ext import StrOrPromise
from unfold.widgets import UnfoldAdminTextInputWidget

from kilit.console.formatting import number, page
from kilit.console.reasons import recent_reasons
from kilit.postgres.collation import NameOrder
from ociqueue.archiving import archive, restore, sites_with_open_rows
from ociqueue.models import Site
from ociqueue.models.site import SiteQuerySet

MOST_NAMED = 10
LONGEST_REASON = Site._meta.get_field("pause_reason").max_length


class SiteReasonForm(forms.Form):
    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=LONGEST_REASON,
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off", "list": "recent-reasons", "autofocus": True}),
    )


class NoReasonForm(forms.Form):
    """Asks for nothing but the confirmation."""


@dataclass(frozen=True)
class SiteAction:
    name: str
    title: StrOrPromise
    effect: StrOrPromise
    permission: str
    logged: str  # in the history of each site, in English
    allowed: Callable[[Any], SiteQuerySet]
    applies: Callable[[SiteQuerySet], SiteQuerySet]  # to which of the chosen sites
    run: Callable[[SiteQuerySet, str], Any]
    done: Callable[[int], str]
    form: type[forms.Form] = NoReasonForm

    def may(self, user: Any) -> bool:
        return bool(user.has_perm(self.permission))


PAUSE = SiteAction(
    "pause",
    gettext_lazy("Pause"),
    gettext_lazy("Nothing is exported or sent while a site is paused."),
    "ociqueue.operate_site",
    "Paused: {reason}",
    allowed=Site.objects.run_by,
    applies=lambda sites: sites.filter(is_paused=False),
    run=lambda sites, reason: sites.pause(reason=reason),
    done=lambda count: ngettext("%(number)s site is paused.", "%(number)s sites are paused.", count),
    form=SiteReasonForm,
)
RESUME = SiteAction(
    "resume",
    gettext_lazy("Resume"),
    gettext_lazy("Their conversions are exported and sent again."),
    "ociqueue.operate_site",
    "Resumed.",
    allowed=Site.objects.run_by,
    applies=lambda sites: sites.filter(is_paused=True),
    run=lambda sites, _reason: sites.resume(),
    done=lambda count: ngettext("%(number)s site is resumed.", "%(number)s sites are resumed.", count),
)
ARCHIVE = SiteAction(
    "archive",
    gettext_lazy("Archive"),
    gettext_lazy(
        "An archived site is not in lists, choosers and dashboards any more, and its keys are denied. Its rows stay, "
        "and it can be restored."
    ),
    "ociqueue.change_site",
    "Archived: {reason}",
    allowed=Site.objects.administered_by,
    applies=lambda sites: sites.active(),
    run=lambda sites, reason: archive(sites, reason=reason),
    done=lambda count: ngettext("%(number)s site is archived.", "%(number)s sites are archived.", count),
    form=SiteReasonForm,
)
RESTORE = SiteAction(
    "restore",
    gettext_lazy("Restore"),
    gettext_lazy("Restored sites are listed again, and their keys work. They stay paused until you resume them."),
    "ociqueue.change_site",
    "Restored.",
    allowed=Site.objects.administered_by,
    applies=lambda sites: sites.filter(archived_at__isnull=False),
    run=lambda sites, _reason: restore(sites),
    done=lambda count: ngettext("%(number)s site is restored.", "%(number)s sites are restored.", count),
)
ACTIONS = {action.name: action for action in (PAUSE, RESUME, ARCHIVE, RESTORE)}


def actions_page(model_admin: Any, request: HttpRequest) -> HttpResponse:
    """Confirm an action on some sites, named by their ids, and then do it."""
    action = ACTIONS.get(request.POST.get("action", ""))
    if action is None:  # logging in again leads here without the form
        return HttpResponseRedirect(_list_address())
    ids = list(_read_ids(request.POST.get("sites", "")))
    form = action.form(request.POST if "confirmed" in request.POST else None)
    if form.is_valid() and form.is_bound:
        return _apply(request, action, ids, form.cleaned_data.get("reason", "").strip())
    return confirm_page(model_admin, request, action, ids, form)


def confirm_page(
    model_admin: Any, request: HttpRequest, action: SiteAction, ids: Iterable[UUID], form: forms.Form | None = None
) -> HttpResponse:
    if not action.may(request.user):
        raise PermissionDenied
    chosen = set(ids)
    able = action.applies(action.allowed(request.user).filter(pk__in=chosen))
    busy = sites_with_open_rows(list(able.values_list("pk", flat=True))) if action is ARCHIVE else set()
    sites = list(able.exclude(pk__in=busy).order_by(NameOrder("name")))
    sentences = [*([str(action.effect)] if sites else []), *_left_out(action, len(chosen) - len(sites), busy)]
    title = ngettext("%(action)s %(number)s site", "%(action)s %(number)s sites", len(sites))
    return page(
        model_admin,
        request,
        "admin/console/confirm.html",
        title=title % {"action": action.title, "number": number(len(sites))},
        sentences=sentences,
        columns=[_("Site"), _("Customer id")],
        rows=[[(_("Site"), site.name), (_("Customer id"), site.customer or "–")] for site in sites[:MOST_NAMED]],
        beyond=_("and %(number)s more") % {"number": number(len(sites) - MOST_NAMED)}
        if len(sites) > MOST_NAMED
        else "",
        form=form or action.form(),
        reasons=recent_reasons(request.user, action.name),
        kept={"action": action.name, "sites": ",".join(str(site.pk) for site in sites), "confirmed": "1"},
        post_to=reverse("admin:ociqueue_site_actions"),
        submit=action.title if sites else "",
        is_dangerous=action is ARCHIVE,
        back=_list_address(),
    )


def _left_out(action: SiteAction, count: int, busy: set[UUID]) -> Iterable[str]:
    """Say which of the chosen sites stay as they are."""
    if busy:
        names = Site.objects.filter(pk__in=busy).order_by(NameOrder("name")).values_list("name", flat=True)
        text = ngettext(
            "%(number)s site has rows that wait or are being sent, or an import that goes on, and cannot be archived "
            "yet: %(names)s.",
            "%(number)s sites have rows that wait or are being sent, or an import that goes on, and cannot be archived "
            "yet: %(names)s.",
            len(busy),
        )
        yield text % {"number": number(len(busy)), "names": ", ".join(names[:MOST_NAMED])}
    if rest := count - len(busy):
        text = ngettext(
            "%(number)s of the chosen sites stays as it is: it is in that state already, or you may not change it.",
            "%(number)s of the chosen sites stay as they are: they are in that state already, or you may not change "
            "them.",
            rest,
        )
        yield text % {"number": number(rest)}


@transaction.atomic  # with its record
def _apply(request: HttpRequest, action: SiteAction, ids: list[UUID], reason: str) -> HttpResponse:
    if not action.may(request.user):
        raise PermissionDenied
    sites = action.applies(action.allowed(request.user).filter(pk__in=ids))
    # Locked, so that exactly these change; another user may do the same now.
    chosen = list(sites.select_for_update(of=["self"]).order_by("pk").values_list("pk", flat=True))
    able = Site.objects.filter(pk__in=chosen)
    action.run(able, reason)
    changed = able.exclude(pk__in=action.applies(able).values("pk"))
    count = len(changed)
    LogEntry.objects.log_actions(int(request.user.pk or 0), changed, CHANGE, action.logged.format(reason=reason))
    if count:
        messages.success(request, action.done(count) % {"number": number(count)})
    if rest := len(set(ids)) - count:
        text = ngettext("%(number)s site was left as it is.", "%(number)s sites were left as they are.", rest)
        messages.warning(request, text % {"number": number(rest)})
    return HttpResponseRedirect(_list_address())


def _read_ids(text: str) -> Iterable[UUID]:
    for each in text.split(","):
        with suppress(ValueError):
            yield UUID(each)


def _list_address() -> str:
    return reverse("admin:ociqueue_site_changelist")

"""What can be done with many sites at once, and with one from its header: pause, resume, archive, restore."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django_stubs_ext import StrOrPromise
from unfold.admin import ModelAdmin

from kilit.console.account.form_pages import back_to_page
from kilit.console.formatting import number
from kilit.console.lists.confirming import ReasonForm
from kilit.postgres.collation import NameOrder
from kilit.sites import operations as site_operations
from kilit.sites.archiving import sites_with_open_rows
from kilit.sites.models import SiteQuerySet, Tenant
from kilit.sites.operations import SiteOperation
from ociqueue.admin.base.site_header import site_address
from ociqueue.models import Site

MOST_NAMED = 10
LONGEST_REASON = Site._meta.get_field("pause_reason").max_length or 0
WITH_REASON = partial(ReasonForm, help_text="", most=LONGEST_REASON)


@dataclass(frozen=True)
class SiteAction:
    """An operation as the console offers it; Django calls it for the sites that are ticked."""

    operation: SiteOperation
    short_description: StrOrPromise
    effect: StrOrPromise
    done: Callable[[int], str]
    form: Callable[..., forms.Form] = forms.Form

    def __call__(self, model_admin: ModelAdmin, request: HttpRequest, rows: SiteQuerySet[Site]) -> HttpResponse:
        return ask(model_admin, request, self, rows.values_list("pk", flat=True))

    @property
    def __name__(self) -> str:
        return f"{self.operation.name}_sites"

    @property
    def allowed_permissions(self) -> tuple[str]:
        return (self.operation.permission,)


PAUSE = SiteAction(
    site_operations.PAUSE,
    gettext_lazy("Pause"),
    gettext_lazy("Nothing is exported or sent while a site is paused."),
    done=lambda count: ngettext("%(number)s site is paused.", "%(number)s sites are paused.", count),
    form=WITH_REASON,
)
RESUME = SiteAction(
    site_operations.RESUME,
    gettext_lazy("Resume"),
    gettext_lazy("Their conversions are exported and sent again."),
    done=lambda count: ngettext("%(number)s site is resumed.", "%(number)s sites are resumed.", count),
)
ARCHIVE = SiteAction(
    site_operations.ARCHIVE,
    gettext_lazy("Archive"),
    gettext_lazy("Archived sites are not listed, and their keys are denied. Their rows stay; you can restore them."),
    done=lambda count: ngettext("%(number)s site is archived.", "%(number)s sites are archived.", count),
    form=WITH_REASON,
)
RESTORE = SiteAction(
    site_operations.RESTORE,
    gettext_lazy("Restore"),
    gettext_lazy("Restored sites are listed again, and their keys work. They stay paused until you resume them."),
    done=lambda count: ngettext("%(number)s site is restored.", "%(number)s sites are restored.", count),
)
ACTIONS = {action.operation.name: action for action in (PAUSE, RESUME, ARCHIVE, RESTORE)}


def actions_page(model_admin: ModelAdmin, request: HttpRequest) -> HttpResponse:
    action = ACTIONS.get(request.POST.get("action", ""))
    if action is None:  # logging in again leads here without the form
        return HttpResponseRedirect(model_admin.address("changelist"))
    ids = list(_read_ids(request.POST.get("sites", "")))
    form = action.form(request.POST if "confirmed" in request.POST else None)
    if form.is_valid() and form.is_bound:
        return _apply(model_admin, request, action, ids, form.cleaned_data.get("reason", "").strip())
    return ask(model_admin, request, action, ids, form)


def ask(
    model_admin: ModelAdmin,
    request: HttpRequest,
    action: SiteAction,
    ids: Iterable[UUID],
    form: forms.Form | None = None,
) -> HttpResponse:
    if not action.operation.may(request.user):
        raise PermissionDenied
    chosen = set(ids)
    able = action.operation.applies(action.operation.allowed(request.user).filter(pk__in=chosen))
    busy = sites_with_open_rows(list(able.values_list("pk", flat=True))) if action is ARCHIVE else set()
    sites = list(able.exclude(pk__in=busy).order_by(NameOrder("name")))
    sentences = [*([str(action.effect)] if sites else []), *_left_out(action, len(chosen) - len(sites), busy)]
    title = ngettext("%(action)s %(number)s site", "%(action)s %(number)s sites", len(sites))
    beyond = len(sites) - MOST_NAMED
    return model_admin.confirm(
        request,
        title=title % {"action": action.short_description, "number": number(len(sites))},
        sentences=sentences,
        rows=[{_("Site"): site.name, _("Customer id"): site.customer or "–"} for site in sites[:MOST_NAMED]],
        beyond=_("and %(number)s more") % {"number": number(beyond)} if beyond > 0 else "",
        form=form or action.form(),
        reasons_for=action.operation.name,
        kept={"action": action.operation.name, "sites": ",".join(str(site.pk) for site in sites), "confirmed": "1"},
        post_to=model_admin.address("actions"),
        submit=action.short_description if sites else "",
        is_dangerous=action is ARCHIVE,
    )


def _left_out(action: SiteAction, count: int, busy: set[UUID]) -> Iterable[str]:
    if busy:
        names = Site.objects.filter(pk__in=busy).order_by(NameOrder("name")).values_list("name", flat=True)
        text = ngettext(
            "%(number)s site has open rows or imports and cannot be archived yet: %(names)s.",
            "%(number)s sites have open rows or imports and cannot be archived yet: %(names)s.",
            len(busy),
        )
        yield text % {"number": number(len(busy)), "names": ", ".join(names[:MOST_NAMED])}
    if rest := count - len(busy):
        text = ngettext(
            "%(number)s site stays as it is: already in that state, or not yours to change.",
            "%(number)s sites stay as they are: already in that state, or not yours to change.",
            rest,
        )
        yield text % {"number": number(rest)}


def _apply(
    model_admin: ModelAdmin, request: HttpRequest, action: SiteAction, ids: list[UUID], reason: str
) -> HttpResponse:
    if not action.operation.may(request.user):
        raise PermissionDenied
    count = len(site_operations.run_where_possible(action.operation, request.user, ids, reason=reason))
    if count:
        messages.success(request, action.done(count) % {"number": number(count)})
    if rest := len(set(ids)) - count:
        text = ngettext("%(number)s site was left as it is.", "%(number)s sites were left as they are.", rest)
        messages.warning(request, text % {"number": number(rest)})
    return HttpResponseRedirect(model_admin.address("changelist"))


def _read_ids(text: str) -> Iterable[UUID]:
    for each in text.split(","):
        with suppress(ValueError):
            yield UUID(each)


def pause(_model_admin: ModelAdmin, request: HttpRequest, site: Site) -> HttpResponse:
    reason = request.POST.get("reason", "").strip()[:LONGEST_REASON]
    if not reason:
        messages.error(request, _("Enter a reason for the pause."))
    elif site_operations.run_where_possible(site_operations.PAUSE, request.user, [site.pk], reason=reason):
        messages.success(request, _("%(site)s is paused.") % {"site": site.name})
    else:
        messages.warning(request, _("%(site)s is already paused.") % {"site": site.name})
    return back_to_page(request, site_address(site, "change"))


@transaction.atomic  # with its record
def resume(model_admin: ModelAdmin, request: HttpRequest, site: Site) -> HttpResponse:
    """End the pause that the page showed; another that began since goes on."""
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

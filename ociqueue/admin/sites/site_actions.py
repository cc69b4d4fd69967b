"""What can be done with many sites at once, and with one from its header: pause, resume, archive, restore."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django_stubs_ext import StrOrPromise

from kilit.console.formatting import number
from kilit.console.lists.confirming import ReasonForm, confirm_page, reason_field
from kilit.postgres.collation import NameOrder
from kilit.sites import operations as site_operations
from kilit.sites.archiving import sites_with_open_rows
from kilit.sites.operations import SiteOperation
from ociqueue.models import Site

MOST_NAMED = 10
LONGEST_REASON = Site._meta.get_field("pause_reason").max_length


class SiteReasonForm(ReasonForm):
    reason = reason_field(most=LONGEST_REASON or 0)


@dataclass(frozen=True)
class SiteAction:
    """An operation as the console offers it."""

    operation: SiteOperation
    title: StrOrPromise
    effect: StrOrPromise
    done: Callable[[int], str]
    form: type[forms.Form] = forms.Form

    def may(self, user: User | AnonymousUser) -> bool:
        return self.operation.may(user)


PAUSE = SiteAction(
    site_operations.PAUSE,
    gettext_lazy("Pause"),
    gettext_lazy("Nothing is exported or sent while a site is paused."),
    done=lambda count: ngettext("%(number)s site is paused.", "%(number)s sites are paused.", count),
    form=SiteReasonForm,
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
    gettext_lazy(
        "An archived site is not in lists, choosers and dashboards any more, and its keys are denied. Its rows stay, "
        "and it can be restored."
    ),
    done=lambda count: ngettext("%(number)s site is archived.", "%(number)s sites are archived.", count),
    form=SiteReasonForm,
)
RESTORE = SiteAction(
    site_operations.RESTORE,
    gettext_lazy("Restore"),
    gettext_lazy("Restored sites are listed again, and their keys work. They stay paused until you resume them."),
    done=lambda count: ngettext("%(number)s site is restored.", "%(number)s sites are restored.", count),
)
ACTIONS = {action.operation.name: action for action in (PAUSE, RESUME, ARCHIVE, RESTORE)}


def actions_page(model_admin: Any, request: HttpRequest) -> HttpResponse:
    """Confirm an action on some sites, named by their ids, and then do it."""
    action = ACTIONS.get(request.POST.get("action", ""))
    if action is None:  # logging in again leads here without the form
        return HttpResponseRedirect(_list_address())
    ids = list(_read_ids(request.POST.get("sites", "")))
    form = action.form(request.POST if "confirmed" in request.POST else None)
    if form.is_valid() and form.is_bound:
        return _apply(request, action, ids, form.cleaned_data.get("reason", "").strip())
    return ask(model_admin, request, action, ids, form)


def ask(
    model_admin: Any, request: HttpRequest, action: SiteAction, ids: Iterable[UUID], form: forms.Form | None = None
) -> HttpResponse:
    if not action.may(request.user):
        raise PermissionDenied
    chosen = set(ids)
    able = action.operation.applies(action.operation.allowed(request.user).filter(pk__in=chosen))
    busy = sites_with_open_rows(list(able.values_list("pk", flat=True))) if action is ARCHIVE else set()
    sites = list(able.exclude(pk__in=busy).order_by(NameOrder("name")))
    sentences = [*([str(action.effect)] if sites else []), *_left_out(action, len(chosen) - len(sites), busy)]
    title = ngettext("%(action)s %(number)s site", "%(action)s %(number)s sites", len(sites))
    return confirm_page(
        model_admin,
        request,
        title=title % {"action": action.title, "number": number(len(sites))},
        sentences=sentences,
        columns=[_("Site"), _("Customer id")],
        rows=[[(_("Site"), site.name), (_("Customer id"), site.customer or "–")] for site in sites[:MOST_NAMED]],
        beyond=_("and %(number)s more") % {"number": number(len(sites) - MOST_NAMED)}
        if len(sites) > MOST_NAMED
        else "",
        form=form or action.form(),
        reasons_for=action.operation.name,
        kept={"action": action.operation.name, "sites": ",".join(str(site.pk) for site in sites), "confirmed": "1"},
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


def _apply(request: HttpRequest, action: SiteAction, ids: list[UUID], reason: str) -> HttpResponse:
    if not action.may(request.user):
        raise PermissionDenied
    count = len(site_operations.run_where_possible(action.operation, request.user, ids, reason=reason))
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

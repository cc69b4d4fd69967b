"""Acting on all that a list's filters leave: the offer over the list, and the page that asks."""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import path, reverse
from django.utils.translation import gettext as _
from unfold.widgets import UnfoldAdminTextInputWidget

from kilit.bulk.models import MOST_WITHOUT_COUNT, BulkAction
from kilit.bulk.planning import BELL, MOST_LOOKED_AT, Look, look, plan, plan_now
from kilit.bulk.queues import NotNow, register
from kilit.console import bulk_filters
from kilit.console.actions import Action, ReasonForm
from kilit.console.bulk_filters import Unusable
from kilit.console.formatting import number as grouped
from kilit.console.formatting import page
from kilit.console.listing import LongListAdmin
from kilit.lock.table import Lifecycle
from kilit.workers import doorbells

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User


class BulkOffers(LongListAdmin):
    """Offers a queue's operations over everything that matches."""

    table: Lifecycle
    operations: tuple[Action, ...] = ()  # in the order in which they are offered

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        register(self.table.queue, self)

    # What workers ask

    def may_act(self, user: "User | AnonymousUser") -> bool:
        """Tell whether a user may act at all; the rows in reach are another question."""
        return user.is_staff and user.has_perm(f"{self.opts.app_label}.operate_{self.opts.model_name}")

    def matching(
        self, user: "User | AnonymousUser", filters: Mapping[str, str], *, as_of: datetime | None = None
    ) -> Any:
        """Return the rows that the list shows a user for these filters."""
        return bulk_filters.matching(self, user, filters, as_of=as_of)

    # The offer over the list

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Offer what applies to all that match, once something is filtered."""
        offered = {"bulk_offers": self._offers(request), **(extra_context or {})}
        return super().changelist_view(request, offered)  # type: ignore[no-any-return]

    def _offers(self, request: HttpRequest) -> list[dict[str, str]]:
        if not self.has_operate_permission(request):
            return []
        try:
            filters = bulk_filters.frozen(self, request.user, request.GET)
        except Unusable:
            return []
        state = filters.get("status")
        return [
            {"label": action.label, "address": self.bulk_address(action, filters)}
            for action in self.operations
            if state is None or state in action.sources
        ]

    # The page that asks

    def act_on_all(self, request: HttpRequest, name: str) -> HttpResponse:
        """Say what an action would do to all that match, ask why and how many, and plan it."""
        action = next((action for action in self.operations if action.path == name), None)
        if action is None:
            raise Http404
        if not self.has_operate_permission(request):
            raise PermissionDenied
        try:
            filters = bulk_filters.frozen(self, request.user, request.GET)
            found = look(self, action, request.user, filters)
        except (Unusable, NotNow) as why:
            messages.error(request, str(why))
            return HttpResponseRedirect(self.address("changelist"))
        form = action.form(request.POST or None)
        if request.method == "POST" and form.is_valid() and found.eligible:
            asked = {
                "queue": self.table.queue,
                "action": action.name,
                "user": request.user,
                "filters": filters,
                "filters_told": bulk_filters.in_words(self, request.user, filters),
                "reason": form.cleaned_data["reason"],
                "options": form.options(),
            }
            planned = plan(**asked) if found.is_capped else self._start_now(request, form, asked)
            if planned:
                return HttpResponseRedirect(reverse("admin:bulk_bulkaction_change", args=[planned.pk]))
        return self._ask_for_all(request, action, filters, found, form)

    def _start_now(self, request: HttpRequest, form: ReasonForm, asked: dict[str, Any]) -> BulkAction | None:
        """Plan and start in one go; a wrong count leaves nothing behind."""
        count = typed(request.POST)
        with transaction.atomic():
            planned = plan_now(**asked)
            if BulkAction.objects.filter(pk=planned.pk).start(count=count):
                doorbells.ring(BELL)
                return planned
            transaction.set_rollback(True)
        # Said about the count, which the form does not know as a field of its own.
        form.add_error(
            None, _("Type %(number)s: so many would be changed now.") % {"number": grouped(planned.eligible or 0)}
        )
        return None

    def _ask_for_all(
        self, request: HttpRequest, action: Action, filters: Mapping[str, str], found: Look, form: ReasonForm
    ) -> HttpResponse:
        number = found.eligible.total()
        if MOST_WITHOUT_COUNT < number <= MOST_LOOKED_AT and not found.is_capped:
            form.fields["count"] = count_field(number)
        submit = _("Count them first") if found.is_capped else f"{action.title} ({grouped(number)})"
        return page(
            self,
            request,
            "admin/console/confirm.html",
            title=_("%(action)s: all that match") % {"action": action.title},
            sentences=foretold(action, found.told(), is_capped=found.is_capped),
            facts=[(_("Filter"), bulk_filters.in_words(self, request.user, filters)), (_("Reach"), action.label)],
            form=form,
            submit=submit if found.eligible else "",
            is_dangerous=action.is_dangerous,
            post_to=self.bulk_address(action, filters),
            kept={},
            back=f"{self.address('changelist')}?{encoded(filters)}",
        )

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view(self.act_on_all)
        return [path("all/<str:name>/", view, name=self.named("act_on_all")), *super().get_urls()]

    def bulk_address(self, action: Action, filters: Mapping[str, str]) -> str:
        """Return the way to the page that asks about all that match."""
        return f"{self.address('act_on_all', action.path)}?{encoded(filters)}"


def foretold(action: Action, dry_run: Mapping[str, Any], *, is_capped: bool = False) -> list[str]:
    """Say what a dry run found, in sentences."""
    eligible = Counter(dry_run.get("eligible", {}))
    if is_capped:
        told = [
            _("%(title)s: more than %(number)s that match. They are counted next, and then you decide.")
            % {"title": action.title, "number": grouped(MOST_LOOKED_AT)}
        ]
    else:
        by_state = ", ".join(f"{grouped(number)} {state}" for state, number in sorted(eligible.items()))
        told = [
            _("%(title)s: %(number)s that match%(states)s.")
            % {
                "title": action.title,
                "number": grouped(eligible.total()),
                "states": f" ({by_state})" if by_state else "",
            }
        ]
    told += [str(action.effect)] if eligible else []
    told += action.staying(dry_run.get("passed_by", {}))
    if dry_run.get("others_capped"):
        told.append(
            _("More than %(number)s others match and will stay as they are.") % {"number": grouped(MOST_LOOKED_AT)}
        )
    else:
        told += action.staying(dry_run.get("others", {}))
    return told


def count_field(number: int) -> forms.CharField:
    """Ask for a number to be typed, so that nobody changes many rows by a slip."""
    return forms.CharField(
        required=False,
        label=_("Type %(number)s to confirm") % {"number": grouped(number)},
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off", "inputmode": "numeric"}),
    )


def typed(data: QueryDict) -> int | None:
    """Return the number that was typed, however its thousands are parted."""
    digits = "".join(letter for letter in data.get("count", "") if letter not in ",. '\u00a0\u202f")
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 10 else None  # noqa: PLR2004


def encoded(filters: Mapping[str, str]) -> str:
    """Return filters as an address has them."""
    query = QueryDict(mutable=True)
    query.update(cast("Any", dict(filters)))
    return query.urlencode()

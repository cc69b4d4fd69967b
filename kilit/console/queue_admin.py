"""The admin of a queue's rows: what is done to many, or cannot be taken back, is confirmed first."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from operator import attrgetter
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import BadRequest, PermissionDenied, ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import path
from django.utils.functional import lazy
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.admin import ModelAdmin

from kilit.access.models import DenialCode
from kilit.access.models.denied_request import mark_denied
from kilit.console.formatting import button, page
from kilit.console.formatting import number as grouped
from kilit.console.jobs.job_page import LIST_FILTERS, JobPageAdmin
from kilit.console.lists import undo
from kilit.console.lists.actions import Action, ReasonForm, join_states, recent_reasons
from kilit.console.lists.list_controls import QueueControls
from kilit.console.lists.listing import CappedChangeList
from kilit.csv.writer import CHUNK, csv_lines, csv_response
from kilit.lock.audit import for_reason

NO_MASKS: Mapping[str, Callable[[str], str]] = {}
MOST_NAMED = 5  # rows on the confirmation page
COLUMNS_NAMED = 3  # of the list: the first ones identify a row


class FailedExportMixin(ModelAdmin):
    # Each column of the file, with the attribute or function of a row that fills it.
    export_fields: Mapping[str, str | Callable[[Any], Any]] = {}
    export_states: Sequence[str] = ("FAILED",)
    # Columns with personal data, and how they are masked for viewers; operators need them to correct rows.
    export_masks: Mapping[str, Callable[[str], str]] = NO_MASKS

    # Ends of the addresses of buttons above the list that act on what its filters match.
    pages_with_filters: Sequence[str] = ("/dead-letters/",)

    @button(
        description=gettext_lazy("Export failed (CSV)"), icon="download", permissions=["view"], url_path="dead-letters"
    )
    def dead_letters(self, request: HttpRequest) -> HttpResponseBase:
        """Stream the failed rows; a server-side cursor keeps memory the same for any number."""
        back = HttpResponseRedirect(f"{self.address('changelist')}?{request.GET.urlencode()}")
        listed = self.get_changelist_instance(request)
        if listed.rejected_filters():  # the list shows the message
            return back
        state = request.GET.get("status", "").strip()
        if state and state not in self.export_states:
            values = {"states": join_states(self.export_states), "state": state}
            messages.warning(request, _("The export has %(states)s rows; the list shows %(state)s rows.") % values)
            return back
        masks = NO_MASKS if self.has_operate_permission(request) else self.export_masks
        return csv_response("dead-letters", self.export_lines(listed.get_queryset(request), masks=masks))

    def export_lines(self, rows: Any, *, masks: Mapping[str, Callable[[str], str]] = NO_MASKS) -> Iterator[str]:
        failed = rows.filter(status__in=self.export_states).order_by("pk")
        readers: list[tuple[Callable[[Any], object], Callable[[Any], object]]] = [
            (field if callable(field) else attrgetter(field), masks.get(name, _as_it_is))
            for name, field in self.export_fields.items()
        ]
        rows = ([mask(read(row)) for read, mask in readers] for row in failed.iterator(chunk_size=CHUNK))
        return csv_lines(tuple(self.export_fields), rows)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponse:
        """Keep the list's filters in the links to files."""
        response: HttpResponse = super().changelist_view(request, extra_context)
        for offered in getattr(response, "context_data", {}).get("actions_list", []):
            if offered["path"].endswith(tuple(self.pages_with_filters)) and request.GET:
                offered["path"] += f"?{request.GET.urlencode()}"
        return response


def _as_it_is(value: object) -> object:
    return value


class QueueAdmin(FailedExportMixin, JobPageAdmin):
    buttons: dict[str, Action]  # by the name of the method that a row's page shows as a button
    most_acted_on = 500
    scope_filter = ""  # the filter by what counts are kept for, such as sites

    actions_list = ["error_groups", "dead_letters"]
    list_disable_select_all = True
    list_before_template = "admin/console/bulk_offers.html"

    def __init_subclass__(cls, **options: object) -> None:
        """Give each action its place in the list and its button on a row's page."""
        super().__init_subclass__(**options)
        if not hasattr(cls, "queue"):  # a base of other admins
            return
        cls.filters = cls.queue.filters
        cls.buttons = {f"{action.name}_row": action for action in cls.operator_actions}
        cls.actions = [action.name for action in cls.operator_actions]  # type: ignore[assignment]
        cls.actions_detail = list(cls.buttons)
        for action in cls.operator_actions:
            setattr(cls, action.name, _for_selected(action))
            setattr(cls, f"{action.name}_row", _for_row(action))

    def list_controls(self, changelist: CappedChangeList) -> QueueControls:
        offered = self.get_actions(changelist.request)
        return QueueControls(
            changelist,
            self.filters,
            scope=self.scope_filter,
            queue=self.queue.table.queue,
            states={state: self.description.state_labels.get(state, "") for state in self.queue.table.states},
            failing=self.failures.states,
            scopes=self.queue.scopes_seen_by(changelist.user),
            actions=[action for action in self.operator_actions if action.name in offered],
        )

    def has_operate_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        """Ask the database once a request; Django and unfold ask for every action of a page, several times."""
        answers: dict[str, bool] = request.__dict__.setdefault("may_act_in", {})
        queue = self.queue.table.queue
        if queue not in answers:
            answers[queue] = self.queue.may_act(request.user)
        return answers[queue]

    def get_actions(self, request: HttpRequest) -> dict[str, object]:
        """Offer for a list of one state or error only the actions that apply to it."""
        offered: dict[str, object] = super().get_actions(request)
        values = self.filters.accepted(request.GET, request.user, among=["status", "code", "group"])
        apply = {action.name for action in self.actions_for(values)}
        return {name: entry for name, entry in offered.items() if name in apply}

    def response_action(self, request: HttpRequest, queryset: object) -> HttpResponse | None:
        """Refuse a forged selection: one with an invalid id, or with rows that the user may not act on."""
        chosen = (self.read_id(text) for text in request.POST.getlist("_selected_action")[: self.most_acted_on])
        self.log_out_of_reach(request, [pk for pk in chosen if pk])
        try:
            return super().response_action(request, queryset)
        except ValidationError:
            raise BadRequest(_("Invalid id.")) from None

    # Confirming

    def read_id(self, text: str) -> UUID | None:
        with suppress(ValueError):
            return UUID(text)
        return None

    def confirm_selected(self, request: HttpRequest, action: Action, rows: Any) -> HttpResponse | None:
        """Confirm the rows selected in the list; the ids that are shown are those that will be acted on."""
        ids = list(rows.order_by().values_list("pk", flat=True)[: self.most_acted_on + 1])
        if len(ids) > self.most_acted_on:
            messages.error(request, _("At most %(most)s rows at once.") % {"most": grouped(self.most_acted_on)})
            return None
        return self.confirm(request, action, ids, filters=request.GET.urlencode())

    def confirm_row(self, request: HttpRequest, action: Action, object_id: str) -> HttpResponse:
        pk = self.read_id(unquote(object_id))
        if pk is None:
            raise Http404
        return self.confirm(request, action, [pk], filters=request.GET.get(LIST_FILTERS, ""), from_row=True)

    def confirm(
        self,
        request: HttpRequest,
        action: Action,
        ids: list[UUID],
        *,
        filters: str = "",
        from_row: bool = False,
        form: ReasonForm | None = None,
    ) -> HttpResponse:
        preview = action.preview(request.user, ids)
        came_from = {"filters": filters, "from_row": "1" if from_row else ""}
        # In the address too, which outlives a session: a user who has to log in again is led back.
        query = urlencode({"ids": ids[0], **came_from} if from_row else {"filters": filters})
        return page(
            self,
            request,
            "admin/console/confirm.html",
            title=action.question(preview.eligible or len(ids)),
            sentences=preview.sentences,
            **self._rows_context(request, ids),
            facts=[(_("Applies to"), action.label)],
            form=form or action.form_for(ids),
            submit=f"{action.title} ({grouped(preview.eligible)})" if preview.eligible else "",
            reasons=recent_reasons(request.user, action.verb),
            is_dangerous=action.is_dangerous,
            back_label=action.back_label,
            post_to=f"{self.address('act', action.verb)}?{query}",
            kept={"ids": ",".join(map(str, ids)), **came_from},
            back=self.back_address(ids, filters=filters, from_row=from_row),
        )

    def _rows_context(self, request: HttpRequest, ids: list[UUID]) -> dict[str, Any]:
        rows = self.get_queryset(request).filter(pk__in=ids)
        first = rows.select_related(*(self.list_select_related or ())).order_by("-pk")[:MOST_NAMED]
        columns = [(capfirst(column.short_description), column) for column in self.list_display[:COLUMNS_NAMED]]
        beyond = rows.count() - MOST_NAMED
        return {
            "columns": [label for label, _column in columns],
            "rows": [[(label, column(row)) for label, column in columns] for row in first],
            "beyond": _("and %(number)s more") % {"number": grouped(beyond)} if beyond > 0 else "",
        }

    # Acting

    def act(self, request: HttpRequest, verb: str) -> HttpResponse:
        """Do what was confirmed, and report; a second click finds nothing left to do."""
        action = {action.verb: action for action in self.operator_actions}.get(verb)
        if action is None:
            raise Http404
        if not self.has_operate_permission(request):
            raise PermissionDenied
        values = request.POST if request.method == "POST" else request.GET
        named = (self.read_id(text) for text in values.get("ids", "").split(","))
        ids = list(dict.fromkeys(pk for pk in named if pk))
        filters, from_row = values.get("filters", ""), bool(values.get("from_row"))
        if request.method != "POST":  # logging in again leads here, without the form
            messages.warning(request, _("Nothing was changed: your session had ended. Please confirm again."))
            return HttpResponseRedirect(self.back_address(ids, filters=filters, from_row=from_row and bool(ids)))
        if not 0 < len(ids) <= self.most_acted_on:
            messages.error(request, _("Select from 1 to %(most)s rows.") % {"most": grouped(self.most_acted_on)})
            return HttpResponseRedirect(self.address("changelist"))
        form = action.form_for(ids, request.POST)
        self.log_out_of_reach(request, ids)
        if not form.is_valid():
            return self.confirm(request, action, ids, form=form, filters=filters, from_row=from_row)
        with for_reason(form.cleaned_data["reason"]):
            self._perform(request, action, ids, form.options())
        if not from_row:
            self.remember(request, action, ids)
        return HttpResponseRedirect(self.back_address(ids, filters=filters, from_row=from_row))

    def _perform(self, request: HttpRequest, action: Action, ids: list[UUID], options: dict[str, Any]) -> None:
        if not action.undo or len(ids) > 1:
            report = action.perform(request.user, ids, options)
            messages.add_message(request, report.level, report.sentence)
            return
        kept = {name: request.POST.get(name, "") for name in ("ids", "filters", "from_row")}
        form = {"post_to": self.address("undo", action.verb), "kept": kept}
        report = undo.perform(request, action, ids[0], options, form=form)
        tags = undo.KEY if undo.is_offered(request) else ""  # shown as a button, by the template of messages
        messages.add_message(request, report.level, report.sentence, extra_tags=tags)

    def undo(self, request: HttpRequest, verb: str) -> HttpResponse:
        action = {action.verb: action for action in self.operator_actions if action.undo}.get(verb)
        pk = self.read_id(request.POST.get("ids", ""))
        if action is None or pk is None:
            raise Http404
        if not self.has_operate_permission(request, str(pk)):
            raise PermissionDenied
        report = undo.take_back(request, action, pk)
        messages.add_message(request, report.level, report.sentence)
        filters, from_row = request.POST.get("filters", ""), bool(request.POST.get("from_row"))
        return HttpResponseRedirect(self.back_address([pk], filters=filters, from_row=from_row))

    def acted_on_by(self, request: HttpRequest) -> Any:
        return self.get_queryset(request)

    def log_out_of_reach(self, request: HttpRequest, ids: list[Any]) -> None:
        """Log a denied request that names rows out of the user's reach; no verb will touch them."""
        denied = self.model._base_manager.filter(pk__in=ids).exclude(pk__in=self.acted_on_by(request).values("pk"))
        if count := denied.count():
            mark_denied(request, DenialCode.NOT_YOURS, f"{count} of {len(ids)} rows")

    def get_urls(self) -> list[object]:
        act, take_back = map(self.admin_site.admin_view, (self.act, self.undo))
        return [
            path("act/<str:verb>/", act, name=self.view_name("act")),
            path("undo/<str:verb>/", take_back, name=self.view_name("undo")),
            *super().get_urls(),
        ]


def _for_selected(action: Action) -> object:
    def ask(model_admin: QueueAdmin, request: HttpRequest, queryset: object) -> HttpResponse | None:
        return model_admin.confirm_selected(request, action, queryset)

    ask.__name__ = action.name
    label = lazy(lambda: action.label, str)()  # in the reader's language
    return admin.action(description=label, permissions=["operate"])(ask)


def _for_row(action: Action) -> object:
    def ask(model_admin: QueueAdmin, request: HttpRequest, object_id: str) -> HttpResponse:
        return model_admin.confirm_row(request, action, object_id)

    ask.__name__ = f"{action.name}_row"
    offer = button(
        description=action.title,
        icon=action.icon,
        danger=action.is_dangerous,
        permissions=["operate"],
        url_path=action.path,
    )
    return offer(ask)

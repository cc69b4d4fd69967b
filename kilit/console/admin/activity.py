"""The page of the activity: a list with filters, the jobs of one row, and a CSV file for admins and owners."""

from collections.abc import Iterator
from datetime import timedelta
from itertools import islice
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from kilit.access.roles import Role, is_owner, role_of
from kilit.batches.filters import ChoiceFilter, DayFilter, FilterSet, TextFilter
from kilit.batches.queues import queues
from kilit.console.formatting import button, column, exactly, link, page, two_lines
from kilit.console.jobs.activity import ActivityWords, site_choices, sources, visible_to
from kilit.console.lists.list_controls import ListControls, Tab
from kilit.console.lists.listing import CappedPaginator, ReadOnlyAdmin, RowList
from kilit.console.menu import ACTIVITY
from kilit.csv.writer import CHUNK, csv_lines, csv_response
from kilit.lock.models import Activity, ActivityKind, Event
from kilit.lock.prefixes import begins_with
from kilit.lock.text import read_digits

MOST_EXPORTED = 100_000
MOST_JOBS = 200  # of one row, on a page
COLUMNS = ("time", "kind", "person", "actor", "queue", "site", "what", "rows", "reason", "objectId", "events")
SITE, DAYS = "site", ("from", "to")


def _search(rows: Any, text: str) -> object:
    """Find by the beginning of a person's or an object's name, or by an object's id."""
    return rows.filter(begins_with("person", text) | begins_with("object_name", text) | Q(object_id=text))


FILTERS = FilterSet(
    (
        ChoiceFilter(
            name="kind",
            title=gettext_lazy("kind"),
            column="kind",
            choices=ActivityKind.choices,
            index="activity_of_kind",
        ),
        TextFilter(name="person", title=gettext_lazy("user name"), column="person", index="activity_of_person"),
        ChoiceFilter(
            name="queue",
            title=gettext_lazy("queue"),
            column="queue",
            choices=lambda _user: [(queue, source.title) for queue, source in sources().items()],
            index="activity_of_queue",
        ),
        ChoiceFilter(
            name=SITE, title=gettext_lazy("site"), column="scope", choices=site_choices, index="activity_of_scope"
        ),
        DayFilter(name="from", title=gettext_lazy("From"), by_id=False, index="activity_newest"),
        DayFilter(name="to", title=gettext_lazy("To, that day included"), is_last=True, by_id=False),
    ),
    search=_search,
)


def _who(row: Any) -> SafeString | str:
    name = row.words.who(row)
    return link(f"?{urlencode({'person': row.person})}", name) if row.person else name


what = column(
    "what", gettext_lazy("what"), lambda row: two_lines(row.words.sentence(row), row.words.reason(row), title="")
)
who = column("who", gettext_lazy("who"), _who)
site = column("site", gettext_lazy("site"), lambda row: row.words.site(row) or "-")
queue = column("queue", gettext_lazy("queue"), lambda row: row.words.queue(row) or "-")
time = column("time", gettext_lazy("time"), lambda row: exactly(row.created_at))


class ActivityPaginator(CappedPaginator):
    def names(self) -> str:
        return ngettext("entry", "entries", self.count)


class ActivityChangeList(RowList):
    """Finds the names for all rows of a page at once."""

    result_list: Any

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list = list(in_words(self.result_list, request.user))

    def url_for_result(self, result: Any) -> str:
        return str(result.words.href(result) or super().url_for_result(result))


def in_words(rows: Any, user: User | AnonymousUser) -> Iterator[Any]:
    entries = list(rows)
    words = ActivityWords(entries, user)
    for row in entries:
        row.words = words
        yield row


class ActivityControls(ListControls):
    """Adds the days that people ask for."""

    tabs_title = gettext_lazy("Days")

    def tabs(self) -> list[Tab]:
        today = timezone.localdate()
        yesterday = today - timedelta(days=1)
        chosen = {name: self.given[name] for name in DAYS if name in self.given}
        tabs = [Tab(_("All"), self._without(*DAYS), is_current=not chosen)]
        for label, day in ((_("Today"), today), (_("Yesterday"), yesterday)):
            days = dict.fromkeys(DAYS, day.isoformat())
            tabs.append(Tab(label, self.href(**days), is_current=chosen == days))
        return tabs


class ActivityAdmin(ReadOnlyAdmin):
    menu = ACTIVITY
    filters = FILTERS
    list_display = [what, who, site, queue, time]
    search_help_text = gettext_lazy("The first letters of a person or an object, or an id")
    ordering = ["-created_at", "-id"]
    paginator = ActivityPaginator
    actions_list = ["export"]
    pages_with_filters = ("/export/",)

    def get_queryset(self, request: HttpRequest) -> Any:
        rows = super().get_queryset(request).filter(visible_to(request.user, site=request.GET.get(SITE, "")))
        return rows.exclude(verb="prepare")  # of bulk actions, between what a person asked for and its start

    def get_changelist(self, request: HttpRequest, **options: object) -> type[RowList]:
        return ActivityChangeList

    def list_controls(self, changelist: RowList) -> ActivityControls:
        return ActivityControls(changelist)

    # One row

    def change_view(self, request: HttpRequest, object_id: str, *args: object, **options: object) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        entries = Activity.objects.filter(pk=object_id) if object_id.isdecimal() else Activity.objects.none()
        seen = entries if is_owner(request.user) else entries.filter(visible_to(request.user))
        if not seen:
            raise Http404
        (row,) = in_words(seen, request.user)
        words = row.words
        facts = [
            (_("Who"), words.who(row)),
            (_("When"), exactly(row.created_at)),
            (_("Queue"), words.queue(row)),
            (_("Site"), words.site(row)),
            (_("Reason"), words.reason(row)),
        ]
        return page(
            self,
            request,
            "admin/console/activity.html",
            title=words.sentence(row),
            is_own_page=True,
            original=row,
            facts=[(label, value) for label, value in facts if value],
            href=words.href(row),
            **self._jobs_context(request, row),
        )

    def _jobs_context(self, request: HttpRequest, row: Activity) -> dict[str, Any]:
        after = request.GET.get("after", "")
        if row.queue not in queues or row.first_event is None:
            return {}
        first = max(row.first_event, (read_digits(after) or 0) + 1)
        events = Event.objects.filter(Q(event_type=row.verb) | Q(details__verb=row.verb), queue=row.queue)
        moved = events.filter(id__gte=first, id__lte=row.last_event, actor=row.actor, created_at=row.created_at)
        listed = list(moved.order_by("id")[: MOST_JOBS + 1])
        queue = queues[row.queue]
        jobs = queue.visible_to(request.user).filter(pk__in=[event.object_id for event in listed[:MOST_JOBS]])
        if row.is_part and (scope := self._scope_column(row.queue)):
            jobs = jobs.filter(**{scope: row.scope})
        model_admin: Any = self.admin_site.get_model_admin(queue.model)
        names = {job.pk: model_admin.page.name(job) for job in jobs}
        return {
            "jobs": [
                (link(model_admin.address("change", event.object_id), names[event.object_id]), event)
                for event in listed[:MOST_JOBS]
                if event.object_id in names
            ],
            "next": listed[MOST_JOBS - 1].pk if len(listed) > MOST_JOBS else None,
        }

    def _scope_column(self, queue: str) -> str:
        model_admin: Any = self.admin_site.get_model_admin(queues[queue].model)
        return queues[queue].filters[model_admin.scope_filter].column if model_admin.scope_filter else ""

    # The file

    def has_export_permission(self, request: HttpRequest) -> bool:
        return role_of(request.user) in (Role.ADMIN, Role.OWNER)

    @button(description=gettext_lazy("Export (CSV)"), icon="download", permissions=["export"], url_path="export")
    def export(self, request: HttpRequest) -> HttpResponseBase:
        """Stream the rows of the list, the newest of very many; texts are masked as in the list."""
        listed = self.get_changelist_instance(request)
        if listed.rejected_filters():  # the list shows the message
            return HttpResponseRedirect(f"{self.address('changelist')}?{request.GET.urlencode()}")
        rows = listed.get_queryset(request)[:MOST_EXPORTED].iterator(chunk_size=CHUNK)
        return csv_response("activity", csv_lines(COLUMNS, self._cells(rows, request.user)))

    @staticmethod
    def _cells(rows: Iterator[Activity], user: User | AnonymousUser) -> Iterator[list[Any]]:
        while chunk := list(islice(rows, CHUNK)):
            for row in in_words(chunk, user):
                words, events = row.words, f"{row.first_event}-{row.last_event}" if row.first_event else ""
                columns = [row.created_at, row.kind, row.person, row.actor, row.queue, words.site(row)]
                yield [*columns, words.sentence(row), row.rows, words.reason(row), row.object_id, events]

"""The activity: a sentence for each row, with its objects by the names people know, and a CSV file for admins."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import Any
from urllib.parse import urlencode

from django.apps import apps
from django.contrib import admin
from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_stubs_ext import StrOrPromise

from kilit.access.models import DenialCode
from kilit.access.roles import Role, is_owner, role_of
from kilit.batches.filters import ChoiceFilter, DayFilter, FilterSet, TextFilter
from kilit.batches.models import BulkAction
from kilit.batches.permissions import activity_visible_to
from kilit.batches.queues import queues
from kilit.batches.states import BULK_ACTIONS
from kilit.console.formatting import column, counted, exactly, link, number, page, two_lines
from kilit.console.jobs.timeline import Story
from kilit.console.lists.actions import Action
from kilit.console.lists.list_controls import Chip, ListControls
from kilit.console.lists.listing import ListAdmin, ListPage, ReadOnlyAdmin, RowList
from kilit.console.menu import ACTIVITY
from kilit.csv.writer import CHUNK, csv_lines, csv_response
from kilit.lock.audit import actor_in_words
from kilit.lock.models import Activity, ActivityKind, Event
from kilit.lock.prefixes import begins_with
from kilit.lock.text import read_digits
from kilit.machine_errors import explain
from kilit.masking import mask_personal_data
from kilit.sites.people import key_owner_names

MOST_EXPORTED = 100_000
MOST_JOBS = 200  # of one row, on a page
COLUMNS = ("time", "kind", "person", "actor", "queue", "site", "what", "rows", "reason", "objectId", "events")
SITE, DAYS = "site", ("from", "to")
FLAGS = {"added": ADDITION, "changed": CHANGE, "deleted": DELETION}
BULK_STORY = Story(
    {
        "JOB_CREATED": gettext_lazy("Bulk action requested by %(who)s"),
        "prepare": gettext_lazy("Rows of a bulk action counted"),
        "start": gettext_lazy("Bulk action started by %(who)s"),
        "finish": gettext_lazy("Bulk action finished"),
        "cancel": gettext_lazy("Bulk action cancelled by %(who)s"),
        "fail": gettext_lazy("Bulk action failed"),
    }
)


@dataclass(frozen=True)
class ActivitySource:
    title: StrOrPromise
    story: Story
    address: Callable[[Activity], str]
    names: Callable[[Collection[str]], Mapping[str, str]] = lambda _ids: {}


_sources: dict[str, ActivitySource] = {}


def register_activity(queue: str, source: ActivitySource) -> None:
    """Declare a lifecycle whose rows have no list of their own."""
    _sources[queue] = source


def sources() -> dict[str, ActivitySource]:
    by_queue = {queue: _source_of(queue) for queue in queues}
    title = capfirst(str(BulkAction._meta.verbose_name_plural))
    bulk = ActivitySource(title, BULK_STORY, lambda row: _page("bulk.bulkaction", row), _bulk_names)
    return {**by_queue, BULK_ACTIONS.queue: bulk, **_sources}


def _source_of(queue: str) -> ActivitySource:
    model, model_admin = queues[queue].model, admin_of(queue)

    def names(ids: Collection[str]) -> dict[str, str]:
        return {str(row.pk): model_admin.page.name(row) for row in model._default_manager.filter(pk__in=ids)}

    title = capfirst(str(model._meta.verbose_name_plural))
    return ActivitySource(title, model_admin.page.story, lambda row: _page(model._meta.label, row), names)


def _bulk_names(ids: Collection[str]) -> dict[str, str]:
    return {
        str(row.pk): f"{console_action(row).title} · {queues[row.queue].model._meta.verbose_name_plural}"
        for row in BulkAction.objects.filter(pk__in=ids, queue__in=[*queues])
    }


def console_action(row: BulkAction) -> Action:
    return admin_of(row.queue).action_named(row.action)


def admin_of(queue: str) -> Any:
    return admin.site.get_model_admin(queues[queue].model)


def _page(label: str, row: Activity) -> str:
    try:
        return reverse(f"admin:{label.lower().replace('.', '_')}_change", args=[row.object_id])
    except NoReverseMatch:
        return ""


def site_choices(user: User | AnonymousUser) -> list[tuple[str, str]]:
    sites: dict[str, str] = {}
    for name, queue in queues.items():
        if scope := admin_of(name).scope_filter:
            choices: Any = queue.filters[scope]
            sites |= {str(value): str(label) for value, label in choices.choices_for(user)}
    return list(sites.items())


class ActivityWords:
    """Names for some rows of the activity, read with one query for each queue that they are of."""

    def __init__(self, rows: list[Activity], user: User | AnonymousUser) -> None:
        self.sources = sources()
        self.sites = dict(site_choices(user))
        self.names: dict[tuple[str, str], str] = {}
        for queue, source in self.sources.items():
            if ids := {row.object_id for row in rows if row.queue == queue and row.object_id and not row.model}:
                self.names |= {(queue, pk): name for pk, name in source.names(ids).items()}
        keys = {row.actor.split(":")[1] for row in rows if row.actor.startswith("key:")}
        self.owners = key_owner_names(keys) if keys else {}

    def sentence(self, row: Activity) -> str:
        return mask_personal_data(" · ".join(filter(None, self._parts(row))))

    def reason(self, row: Activity) -> str:
        return mask_personal_data(explain(row.message)) if row.queue or row.kind == ActivityKind.DENIED else ""

    def who(self, row: Activity) -> str:
        if row.actor.startswith("key:"):
            kind, owner, *key = row.actor.split(":", 2)
            return actor_in_words(":".join([kind, self.owners[owner], *key]))
        return Story().who(row.actor)

    def site(self, row: Activity) -> str:
        return self.sites.get(row.scope, "")

    def queue(self, row: Activity) -> str:
        return str(self.sources[row.queue].title) if row.queue in self.sources else ""

    def href(self, row: Activity) -> str:
        if row.kind == ActivityKind.DENIED:
            return _page("access.deniedrequest", row)
        if row.model:
            return _page(row.model, row) if row.verb != "deleted" else ""
        return self.sources[row.queue].address(row) if row.object_id and row.queue in self.sources else ""

    def _parts(self, row: Activity) -> Iterable[str]:
        match row.kind:
            case ActivityKind.LOGIN:
                yield _("Password reset by e-mail") if row.verb == "password_reset" else _("Logged in")
            case ActivityKind.DENIED:
                yield _("Request denied: %(why)s") % {"why": DenialCode(row.verb).label}
                yield row.object_name
            case _ if row.queue:
                yield self._move(row)
                yield self.names.get((row.queue, row.object_id), "") if row.rows == 1 else self._count(row)
            case _:
                yield f"{_model_name(row.model)} {row.object_name}".strip()
                flag = FLAGS.get(row.verb, CHANGE)
                entry = LogEntry(action_flag=flag, change_message=row.message, object_repr=row.object_name)
                yield entry.get_change_message() or str(entry)

    def _move(self, row: Activity) -> str:
        story = self.sources[row.queue].story if row.queue in self.sources else Story()
        text = story.sentence(row.actor, row.verb)
        return text or _("%(what)s by %(who)s") % {"what": row.verb, "who": story.who(row.actor)}

    def _count(self, row: Activity) -> str:
        return counted(row.rows, queues[row.queue].model) if row.queue in queues else number(row.rows)


def _model_name(label: str) -> str:
    try:
        return capfirst(str(apps.get_model(label)._meta.verbose_name))
    except (LookupError, ValueError):
        return ""


def in_words(rows: Iterable[Activity], user: User | AnonymousUser) -> list[Any]:
    entries: list[Any] = list(rows)
    words = ActivityWords(entries, user)
    for row in entries:
        row.words = words
    return entries


def _search(rows: Any, text: str) -> object:
    """Find by the beginning of a person's or an object's name, or by an object's id."""
    return rows.filter(begins_with("person", text) | begins_with("object_name", text) | Q(object_id=text))


def _queue_choices(_user: User | AnonymousUser) -> list[tuple[str, StrOrPromise]]:
    return [(queue, source.title) for queue, source in sources().items()]


KIND, QUEUE, SITES = (
    ChoiceFilter(name=name, title=title, column=column_name, choices=choices, index=f"activity_of_{column_name}")
    for name, title, column_name, choices in (
        ("kind", gettext_lazy("kind"), "kind", ActivityKind.choices),
        ("queue", gettext_lazy("queue"), "queue", _queue_choices),
        (SITE, gettext_lazy("site"), "scope", site_choices),
    )
)
PERSON = TextFilter(name="person", title=gettext_lazy("user name"), column="person", index="activity_of_person")
FROM = DayFilter(name="from", title=gettext_lazy("From"), by_id=False, index="activity_newest")
TO = DayFilter(name="to", title=gettext_lazy("To, that day included"), is_last=True, by_id=False)


def _what(row: Any) -> SafeString:
    return two_lines(row.words.sentence(row), row.words.reason(row))


def _who(row: Any) -> SafeString | str:
    name = row.words.who(row)
    return link(f"?{urlencode({'person': row.person})}", name) if row.person else name


what = column("what", gettext_lazy("what"), _what)
who = column("who", gettext_lazy("who"), _who)
site = column("site", gettext_lazy("site"), lambda row: row.words.site(row) or "-")
queue = column("queue", gettext_lazy("queue"), lambda row: row.words.queue(row) or "-")
time = column("time", gettext_lazy("time"), lambda row: exactly(row.created_at))


class ActivityList(RowList):
    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list = in_words(self.result_list, request.user)

    def url_for_result(self, result: Any) -> str:
        return str(result.words.href(result) or super().url_for_result(result))


class ActivityControls(ListControls):
    """Adds the days that people ask for."""

    tabs_title = gettext_lazy("Days")

    def tabs(self) -> list[Chip]:
        today = timezone.localdate()
        chosen = {name: self.given[name] for name in DAYS if name in self.given}
        tabs = [Chip(_("All"), self._without(*DAYS), is_current=not chosen)]
        for label, day in ((_("Today"), today), (_("Yesterday"), today - timedelta(days=1))):
            days = dict.fromkeys(DAYS, day.isoformat())
            tabs.append(Chip(label, self.href(**days), is_current=chosen == days))
        return tabs


def export_page(model_admin: ListAdmin, request: HttpRequest) -> HttpResponseBase:
    """Stream the rows of the list, the newest of very many; texts are masked as in the list."""
    listed: Any = model_admin.get_changelist_instance(request)
    if listed.rejected_filters():  # the list shows the message
        return HttpResponseRedirect(f"{model_admin.address('changelist')}?{request.GET.urlencode()}")
    rows = listed.get_queryset(request)[:MOST_EXPORTED].iterator(chunk_size=CHUNK)
    return csv_response("activity", csv_lines(COLUMNS, _cells(rows, request.user)))


@admin.register(Activity)
class ActivityAdmin(ReadOnlyAdmin):
    menu = ACTIVITY
    filters = FilterSet((KIND, PERSON, QUEUE, SITES, FROM, TO), search=_search)
    list_display = [what, who, site, queue, time]
    search_help_text = gettext_lazy("The first letters of a person or an object, or an id")
    ordering = ["-created_at", "-id"]
    list_pages = {"export": ListPage(export_page, gettext_lazy("Export (CSV)"), "export", keeps_filters=True)}
    list_class = ActivityList
    controls_class = ActivityControls

    def get_queryset(self, request: HttpRequest) -> Any:
        rows = super().get_queryset(request).filter(activity_visible_to(request.user, site=request.GET.get(SITE, "")))
        return rows.exclude(verb="prepare")  # of bulk actions, between what a person asked for and its start

    def change_view(self, request: HttpRequest, object_id: str, *args: object, **options: object) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        entries = Activity.objects.filter(pk=object_id) if object_id.isdecimal() else Activity.objects.none()
        rows = in_words(
            entries if is_owner(request.user) else entries.filter(activity_visible_to(request.user)), request.user
        )
        if not rows:
            raise Http404
        row, words = rows[0], rows[0].words
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
        if row.queue not in queues or row.first_event is None:
            return {}
        first = max(row.first_event, (read_digits(request.GET.get("after", "")) or 0) + 1)
        events = Event.objects.filter(Q(event_type=row.verb) | Q(details__verb=row.verb), queue=row.queue)
        moved = events.filter(id__gte=first, id__lte=row.last_event, actor=row.actor, created_at=row.created_at)
        listed = list(moved.order_by("id")[: MOST_JOBS + 1])
        queue, model_admin = queues[row.queue], admin_of(row.queue)
        jobs = queue.visible_to(request.user).filter(pk__in=[event.object_id for event in listed[:MOST_JOBS]])
        if row.is_part and model_admin.scope_filter:
            jobs = jobs.filter(**{queue.filters[model_admin.scope_filter].column: row.scope})
        names = {job.pk: model_admin.page.name(job) for job in jobs}
        return {
            "jobs": [
                (link(model_admin.address("change", event.object_id), names[event.object_id]), event)
                for event in listed[:MOST_JOBS]
                if event.object_id in names
            ],
            "next": listed[MOST_JOBS - 1].pk if len(listed) > MOST_JOBS else None,
        }

    def has_export_permission(self, request: HttpRequest) -> bool:
        return role_of(request.user) in (Role.ADMIN, Role.OWNER)


def _cells(rows: Iterator[Activity], user: User | AnonymousUser) -> Iterator[list[Any]]:
    while chunk := list(islice(rows, CHUNK)):
        for row in in_words(chunk, user):
            words, events = row.words, f"{row.first_event}-{row.last_event}" if row.first_event else ""
            columns = [row.created_at, row.kind, row.person, row.actor, row.queue, words.site(row)]
            yield [*columns, words.sentence(row), row.rows, words.reason(row), row.object_id, events]

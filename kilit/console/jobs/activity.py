"""The activity in words: a sentence for each row, with its objects by the names people know."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.apps import apps
from django.contrib import admin
from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import CharField, Q
from django.db.models.functions import Cast
from django.urls import NoReverseMatch, reverse
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kilit.access.models import DenialCode
from kilit.access.roles import is_owner
from kilit.batches.models import BulkAction
from kilit.batches.permissions import visible_to as bulk_visible_to
from kilit.batches.queues import queues
from kilit.batches.states import BULK_ACTIONS
from kilit.console.formatting import counted, number
from kilit.console.jobs.timeline import Story
from kilit.console.lists.actions import Action
from kilit.lock.models import Activity, ActivityKind
from kilit.machine_errors import explain
from kilit.masking import mask_personal_data
from kilit.sites.people import key_owner_names

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

Names = Callable[[Collection[str]], Mapping[str, str]]
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
    title: "StrOrPromise"
    story: Story
    address: Callable[[Activity], str]
    names: Names = lambda _ids: {}


_sources: dict[str, ActivitySource] = {}


def register_activity(queue: str, source: ActivitySource) -> None:
    """Declare a lifecycle whose rows have no list of their own."""
    _sources[queue] = source


def sources() -> dict[str, ActivitySource]:
    by_queue = {queue: _source_of(queue) for queue in queues}
    title = capfirst(str(BulkAction._meta.verbose_name_plural))
    bulk = ActivitySource(title, BULK_STORY, lambda row: _page("bulk.bulkaction", row), _bulk_names)
    return {**by_queue, BULK_ACTIONS.queue: bulk, **_sources}


def _bulk_names(ids: Collection[str]) -> dict[str, str]:
    return {
        str(row.pk): f"{console_action(row).title} · {queues[row.queue].model._meta.verbose_name_plural}"
        for row in BulkAction.objects.filter(pk__in=ids, queue__in=[*queues])
    }


def console_action(row: BulkAction) -> Action:
    model_admin: Any = admin.site.get_model_admin(queues[row.queue].model)
    operator_action: Action = model_admin.action_named(row.action)
    return operator_action


def _source_of(queue: str) -> ActivitySource:
    model = queues[queue].model
    model_admin: Any = admin.site.get_model_admin(model)

    def names(ids: Collection[str]) -> dict[str, str]:
        return {str(row.pk): model_admin.page.name(row) for row in model._default_manager.filter(pk__in=ids)}

    opts = model._meta
    return ActivitySource(
        capfirst(str(opts.verbose_name_plural)),
        model_admin.page.story,
        lambda row: _page(opts.label, row),
        names,
    )


def _page(label: str, row: Activity) -> str:
    try:
        return reverse(f"admin:{label.lower().replace('.', '_')}_change", args=[row.object_id])
    except NoReverseMatch:
        return ""


def site_choices(user: User | AnonymousUser) -> list[tuple[str, str]]:
    sites: dict[str, str] = {}
    for queue in queues.values():
        if name := getattr(admin.site.get_model_admin(queue.model), "scope_filter", ""):
            choices: Any = queue.filters[name]
            sites |= {str(value): str(label) for value, label in choices.choices_for(user)}
    return list(sites.items())


def visible_to(user: User | AnonymousUser, *, site: str = "") -> Q:
    """Match what was done to rows that the user sees, and what the user did; owners see all, denied requests too.

    What was done to several sites at once is one row for those who see all, and one for each site for others, and for
    all when a site is asked for.
    """
    if is_owner(user):
        return Q() if site else Q(is_part=False)
    whole, scopes = _queues_seen_by(user)
    if site in scopes:
        return Q(scope=site)
    own_rows = Q(person=user.get_username(), is_part=False) & ~Q(kind=ActivityKind.DENIED)
    bulk = BulkAction.objects.filter(bulk_visible_to(user)).annotate(text=Cast("pk", CharField()))
    bulk_actions = Q(queue=BULK_ACTIONS.queue, is_part=False, object_id__in=bulk.values("text"))
    others = Q(queue__in=whole) | Q(scope__in=scopes) & ~Q(queue=BULK_ACTIONS.queue) | bulk_actions
    return own_rows | (others & ~Q(person=user.get_username()))


def _queues_seen_by(user: User | AnonymousUser) -> tuple[list[str], list[str]]:
    """Return the queues that a user sees as a whole, and the sites of the others."""
    whole, scopes = [], []
    for name, queue in queues.items():
        opts = queue.model._meta
        if user.has_perm(f"{opts.app_label}.view_{opts.model_name}"):
            here = queue.scopes_seen_by(user)
            whole += [name] if here is None else []
            scopes += here or []
    return whole, scopes


class ActivityWords:
    """Names for some rows of the activity, read with one query for each queue that they are of."""

    def __init__(self, rows: list[Activity], user: User | AnonymousUser) -> None:
        self.sources = sources()
        self.sites = dict(site_choices(user))
        self.names: dict[tuple[str, str], str] = {}
        for queue, source in self.sources.items():
            if ids := {row.object_id for row in rows if row.queue == queue and row.object_id and not row.model}:
                self.names |= {(queue, pk): name for pk, name in source.names(ids).items()}
        keys = {row.actor.partition(":")[2] for row in rows if row.actor.startswith("key:")}
        self.owners = key_owner_names(keys) if keys else {}

    def sentence(self, row: Activity) -> str:
        return mask_personal_data(" · ".join(filter(None, self._parts(row))))

    def reason(self, row: Activity) -> str:
        return mask_personal_data(explain(row.message)) if row.queue or row.kind == ActivityKind.DENIED else ""

    def who(self, row: Activity) -> str:
        if row.actor.startswith("key:"):
            return _("the API key of %(name)s") % {"name": self.owners[row.actor.partition(":")[2]]}
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
                entry = LogEntry(
                    action_flag=FLAGS.get(row.verb, CHANGE), change_message=row.message, object_repr=row.object_name
                )
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

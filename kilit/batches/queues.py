"""The declaration of a queue, in its app's `queue.py`; `register` makes everything that comes from it."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Model
from prometheus_client.registry import Collector

from kilit.access.encryption import encrypted_columns
from kilit.api.queue_api import QueueApi, apis
from kilit.api.webhooks import WebhookKind, webhook_kinds
from kilit.batches.error_entries import TRY_AGAIN, UNKNOWN, ErrorEntry
from kilit.batches.filters import FilterSet, bare_id
from kilit.batches.operations import Operation
from kilit.batches.search import MOST_PER_COLUMN, Found, PrefixSearch
from kilit.lock.failures import Failures
from kilit.lock.free_text import FreeText, register_free_texts
from kilit.lock.models.error_groups import Cause, Group
from kilit.lock.pruning import Finished, prunables
from kilit.lock.table import Kind, Lifecycle
from kilit.sites.people import is_keys_user
from kilit.workers.doorbells import Doorbell, register_doorbells
from kilit.workers.due_rows import DueRows
from kilit.workers.metrics import oldest_waiting, registry
from kilit.workers.sweeps import Sweep, register_sweeps

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


BY_KIND: Final = ("by kind",)


class Oldest(NamedTuple):
    """The row that waits longest."""

    row: Any
    since: datetime
    place: str = ""
    name: str = ""  # if it is not the one on its page


class Keeping(Enum):
    """How long finished rows are kept, if a queue needs no queries of its own."""

    FOREVER = auto()
    # Rows in states of the kinds DONE and FAILED are pruned: an index must have each state's in the order of ids.
    UNTIL_PRUNED = auto()


@dataclass(frozen=True)
class Queue:
    table: Lifecycle
    model: Any
    filters: FilterSet
    operations: tuple[Operation, ...]
    _: KW_ONLY
    title: "StrOrPromise"

    # Work. The bell has the queue's name; `due` is `model.objects.claimable()` unless it says otherwise.
    work: Callable[[], object] | None = None
    due: DueRows | None = None
    untaken: Callable[[], Mapping[type[Any], Any]] = dict  # as of a Doorbell
    doorbells: Sequence[Doorbell] = ()  # besides
    sweeps: Sequence[Sweep] = ()

    # What is asked of every queue (kilit.problems.checks): an empty tuple says that there is nothing.
    free_text: Sequence[FreeText] | None = None  # where people or other systems may have named a person
    kept_names: Collection[str] = ()  # columns that name a person and stay: the job itself is for that person
    keeping: Keeping | Finished | None = None  # or the rows that may be pruned
    encrypted: Mapping[type[Model], tuple[str, ...]] = field(default_factory=dict)  # columns

    errors: Mapping[str, ErrorEntry] = field(default_factory=dict)  # by code

    # What is watched. States of the kinds DONE and FAILED, unless it says otherwise; none if no rate is watched.
    well: Collection[str] = BY_KIND
    badly: Collection[str] = BY_KIND
    # What share of failures is a problem, and among how many jobs that ended: among fewer, a few failures are no rate.
    alarming_share: float = 0.2
    fewest_ended: int = 50
    paused_title: "StrOrPromise" = ""  # with a place for the %(person)s, of a queue that can be paused
    # The row that waits longest, of those that a user sees or of all; one index must answer it.
    oldest: Callable[[User | AnonymousUser | None], Oldest | None] | None = None
    metrics: Sequence[Collector] = ()

    # What others see.
    webhooks: Sequence[WebhookKind] = ()
    api: QueueApi | None = None

    def __post_init__(self) -> None:
        for name, kind in (("well", Kind.DONE), ("badly", Kind.FAILED)):
            if getattr(self, name) is BY_KIND:
                object.__setattr__(self, name, self.table.of_kind(kind))

    def may_see(self, user: User | AnonymousUser) -> bool:
        """Return whether a user sees rows at all; a key of a site, whose user is in no group, sees the site's."""
        opts = self.model._meta
        may_view = user.has_perm(f"{opts.app_label}.view_{opts.model_name}")
        return may_view or (is_keys_user(user) and self.scopes_seen_by(user) is not None)

    def may_operate(self, user: User | AnonymousUser) -> bool:
        """Return whether a user may act at all, here or by key; which rows are in reach is another question."""
        opts = self.model._meta
        return user.has_perm(f"{opts.app_label}.operate_{opts.model_name}") and self.scopes_run_by(user) != []

    def may_act(self, user: User | AnonymousUser) -> bool:
        """Return whether a user may act on the pages."""
        return user.is_staff and self.may_operate(user)

    def scopes_run_by(self, user: User | AnonymousUser) -> list[str] | None:
        """Return the scopes on whose rows a user may act; None means all."""
        return None

    def may_pause(self, user: User | AnonymousUser) -> bool:
        return self.may_operate(user)

    def scopes_seen_by(self, user: User | AnonymousUser) -> list[str] | None:
        """Return the scopes whose rows a user sees; None means all."""
        return None

    def scopes_shown_to(self, user: User | AnonymousUser) -> list[str] | None:
        """Return the scopes of what dashboards count."""
        return self.scopes_seen_by(user)

    def visible_to(self, user: User | AnonymousUser) -> Any:
        return self.model.objects.all()

    def matching(self, user: User | AnonymousUser, filters: Mapping[str, str], *, as_of: datetime | None = None) -> Any:
        return self.filters.apply(self.visible_to(user), filters, as_of=as_of)

    def search(self, rows: Any, text: str, *, most: int = MOST_PER_COLUMN) -> Found:
        """Return which of some rows a text finds, as their list does; of thousands the first ones."""
        search, text = self.filters.search, bare_id(self.model, text)
        if isinstance(search, PrefixSearch):
            return search.first(rows, text, most=most)
        matches: Any = search(rows, text)
        ids = list(matches.values_list("pk", flat=True)[: most + 1])
        return Found(ids[:most], is_capped=len(ids) > most)

    def operation(self, name: str) -> Operation:
        (match,) = (operation for operation in self.operations if operation.name == name)
        return match

    @property
    def failures(self) -> Failures:
        groups: Any = self.filters["group"]
        failures: Failures = groups.failures
        return failures

    def entry(self, code: str, state: str = "") -> ErrorEntry:
        return self.errors.get(code, UNKNOWN)

    def words(self, code: str, state: str = "") -> str:
        """Return what people call an error code; of a code that is not declared, nothing."""
        entry = self.entry(code, state)
        return "" if entry is UNKNOWN else entry.label

    def hidden_text(self, row: Any) -> str:
        """Return the value of a row that errors must not quote when people read them, such as a click id."""
        return ""

    def entry_of(self, row: Any) -> ErrorEntry:
        return self.entry(getattr(row, self.failures.code), row.status)

    def entries_of(self, groups: Iterable[Cause | Group]) -> dict[str, ErrorEntry]:
        """Return the entries of error groups, by their names."""
        return {group.name: self.entry(group.code, group.state) for group in groups}

    def helps(self, operation: Operation, code: str) -> bool:
        """Return whether an operation is of use for rows with an error code, or for any rows if it is empty."""
        is_attempt = bool(code) and operation.name in TRY_AGAIN
        is_useless = is_attempt and all(self.entry(code, state).is_final for state in operation.sources)
        return operation.helps(code) and not is_useless

    def due_rows(self) -> Sequence[Any]:
        return self.due() if self.due else [self.model.objects.claimable()]

    def oldest_row(self, user: User | AnonymousUser | None = None) -> Oldest | None:
        if self.oldest:
            return self.oldest(user)
        rows = self.visible_to(user) if user else self.model.objects.all()
        row = rows.filter(status__in=self.table.of_kind(Kind.WAITING)).order_by("created_at", "id").first()
        return Oldest(row, row.created_at) if row else None

    def oldest_waiting(self) -> datetime | None:
        oldest = self.oldest_row()
        return oldest.since if oldest else None

    def finished(self) -> Iterable[Any]:
        return [self.model.objects.filter(status=state) for state in self.table.of_kind(Kind.DONE, Kind.FAILED)]


queues: dict[str, Queue] = {}


def register(queue: Queue) -> None:
    """Make all that comes from a declaration, but its pages (the app's `admin`) and its problems (`problems.py`).

    A queue that is switched off is not registered, so it is nowhere; its tables stay.
    """
    if queue.model._meta.app_label in settings.APPS_OFF:
        return
    name = queue.table.queue
    queues[name] = queue
    if queue.work:
        register_doorbells(Doorbell(name, queue.due_rows, queue.work, queue.untaken))
    register_doorbells(*queue.doorbells)
    register_sweeps(*queue.sweeps)
    register_free_texts(*queue.free_text or ())
    encrypted_columns.update(queue.encrypted)
    if queue.keeping is Keeping.UNTIL_PRUNED:
        prunables[name] = queue.finished
    elif queue.keeping and not isinstance(queue.keeping, Keeping):
        prunables[name] = queue.keeping
    oldest_waiting[name] = queue.oldest_waiting
    for collector in queue.metrics:
        registry.register(collector)
    webhook_kinds.update({kind.name: kind for kind in queue.webhooks})
    if queue.api:
        apis.append(queue.api)

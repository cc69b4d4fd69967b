"""What the dashboard shows of a queue; each queue registers one panel."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.urls import reverse
from django.utils.functional import Promise

from kilit.bulk.queues import BulkQueue
from kilit.lock.table import Lifecycle
from kilit.problems.registry import Problem, ProblemSource, register_problems

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User

Text = str | Promise
STUCK_COUNTED = 1000


@dataclass(frozen=True)
class PanelItem:
    text: str
    href: str = ""
    detail: Text = ""
    since: datetime | None = None


@dataclass(frozen=True)
class StuckRows:
    """Rows that should have moved on by now: how many, counted up to a cap, and the worst."""

    count: int
    worst: Sequence[Any]

    @classmethod
    def among(cls, rows: QuerySet[Any], *, most: int = 1) -> "StuckRows":
        worst = list(rows[: most + 1])
        count = len(worst) if len(worst) <= most else rows.order_by()[:STUCK_COUNTED].count()
        return cls(count, worst[:most])


class Panel(ABC):
    """A queue on the dashboard; no answer may take longer the more rows have ended."""

    title: ClassVar[Text]
    icon: ClassVar[str]
    queue: ClassVar[BulkQueue]
    colours: ClassVar[Mapping[Any, str]]
    well: ClassVar[Collection[str]]  # final states of success
    badly: ClassVar[Collection[str]]
    # What share of failures is a problem, and among how many jobs that ended: among fewer, a few failures are no rate.
    alarming_share: ClassVar[float] = 0.2
    fewest_ended: ClassVar[int] = 50
    oldest_means: ClassVar[Text]
    note: ClassVar[Text] = ""  # below the chart
    paused_title: ClassVar[Text] = ""  # with a place for the %(person)s, of a queue that can be paused

    @property
    def table(self) -> Lifecycle:
        return self.queue.table

    @property
    def model(self) -> type[Model]:
        return self.queue.model

    def is_for(self, user: "User | AnonymousUser") -> bool:
        return user.has_perm(f"{self.model._meta.app_label}.view_{self.model._meta.model_name}")

    def is_in_use(self, user: "User | AnonymousUser") -> bool:
        """Return whether there is something to show; a queue that no one has set up takes no place."""
        return True

    def state_label(self, state: str) -> Text:
        """Return what people call a state."""
        model_admin: Any = admin.site.get_model_admin(self.model)
        label: Text = model_admin.description.state_labels.get(state, "")
        return label

    @abstractmethod
    def oldest(self, user: "User | AnonymousUser") -> PanelItem | None:
        """Return the row that has waited longest."""

    def problem_sources(self) -> Iterable[ProblemSource]:
        """Return what finds problems: a bounded number of lines and of cheap queries; actions only for who may act."""
        return ()

    def list_address(self, **filters: str) -> str:
        return reverse(f"admin:{self._named}_changelist", query=filters or None)

    def row_address(self, pk: Any) -> str:
        return reverse(f"admin:{self._named}_change", args=[pk])

    def bulk_address(self, action: str, **filters: str) -> str:
        """Return the page that does an action to all rows of a filter, after a reason."""
        return reverse(f"admin:{self._named}_act_on_all", args=[action], query=filters)

    def resume_address(self) -> str:
        return reverse(f"admin:{self._named}_resume_queue")

    def groups_address(self) -> str:
        return reverse(f"admin:{self._named}_error_groups")

    @property
    def _named(self) -> str:
        return f"{self.model._meta.app_label}_{self.model._meta.model_name}"


panels: list[Panel] = []


def register_panel(panel: Panel) -> None:
    panels.append(panel)
    register_panel_problems(panel)


def register_panel_problems(panel: Panel) -> None:
    """Register what finds a queue's problems, for those who may see the queue."""

    def guarded(source: ProblemSource) -> Callable[[Any], Iterable[Problem]]:
        return lambda user: source.find(user) if panel.is_for(user) else ()

    for source in panel.problem_sources():
        register_problems(guarded(source), rows=source.rows)

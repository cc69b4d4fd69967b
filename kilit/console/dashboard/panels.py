"""What the dashboard shows of a queue; each queue registers one panel."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin
from django.utils.functional import Promise

from kilit.batches.queues import Queue
from kilit.console.jobs.states import States
from kilit.lock.table import Lifecycle
from kilit.problems.links import list_path, page_path

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User

Text = str | Promise


@dataclass(frozen=True)
class PanelItem:
    text: str
    href: str = ""
    detail: Text = ""
    since: datetime | None = None


class Panel(ABC):
    """A queue on the dashboard; no answer may take longer the more rows have ended."""

    icon: ClassVar[str]
    queue: ClassVar[Queue]
    oldest_means: ClassVar[Text]
    note: ClassVar[Text] = ""  # below the chart

    @property
    def table(self) -> Lifecycle:
        return self.queue.table

    def is_in_use(self, user: "User | AnonymousUser") -> bool:
        """Return whether there is something to show; a queue that no one has set up takes no place."""
        return True

    @property
    def states(self) -> States:
        model_admin: Any = admin.site.get_model_admin(self.queue.model)
        states: States = model_admin.states
        return states

    @abstractmethod
    def oldest(self, user: "User | AnonymousUser") -> PanelItem | None:
        """Return the row that has waited longest."""

    def list_address(self, **filters: str) -> str:
        return list_path(self.queue.model, **filters)

    def row_address(self, pk: object) -> str:
        return page_path(self.queue.model, "change", pk)


panels: list[Panel] = []


def register_panel(panel: Panel) -> None:
    panels.append(panel)

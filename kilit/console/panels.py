"""What the dashboard shows of a queue; each queue registers one panel."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar

from django.db.models import Model, QuerySet
from django.urls import reverse
from django.utils.functional import Promise

from kilit.lock.table import Lifecycle

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User

Text = str | Promise


@dataclass(frozen=True)
class PanelItem:
    text: str
    href: str = ""
    detail: Text = ""
    since: datetime | None = None


@dataclass(frozen=True)
class Concern:
    title: Text
    hint: Text
    items: Sequence[PanelItem]
    colour: str = "warning"
    total: int | None = None  # if there are more than `items`
    href: str = ""  # the list of all

    @property
    def beyond(self) -> int:
        return max(0, (self.total or 0) - len(self.items))


class Panel(ABC):
    """A queue on the dashboard; no answer may take longer the more rows have ended."""

    title: ClassVar[Text]
    icon: ClassVar[str]
    table: ClassVar[Lifecycle]
    model: ClassVar[type[Model]]
    colours: ClassVar[Mapping[Any, str]]
    well: ClassVar[Collection[str]]  # final states of success
    badly: ClassVar[Collection[str]]
    oldest_means: ClassVar[Text]
    stuck_means: ClassVar[Text]
    note: ClassVar[Text] = ""  # below the chart

    def is_for(self, user: "User | AnonymousUser") -> bool:
        return user.has_perm(f"{self.model._meta.app_label}.view_{self.model._meta.model_name}")

    def scopes_seen_by(self, user: "User | AnonymousUser") -> list[str] | None:
        """Return the scopes whose rows a user sees; None means all."""
        return None

    @abstractmethod
    def oldest(self, user: "User | AnonymousUser") -> PanelItem | None:
        """Return the row that has waited longest."""

    @abstractmethod
    def stuck(self, user: "User | AnonymousUser") -> QuerySet[Any]:
        """Return the rows that should have moved on by now, worst first."""

    @abstractmethod
    def item(self, row: Any) -> PanelItem: ...

    def concerns(self, user: "User | AnonymousUser", totals: Mapping[str, int]) -> Iterable[Concern]:
        """Return what needs attention; rows per state are known already."""
        return ()

    def list_address(self, **filters: str) -> str:
        return reverse(f"admin:{self._named}_changelist", query=filters or None)

    def row_address(self, pk: Any) -> str:
        return reverse(f"admin:{self._named}_change", args=[pk])

    @property
    def _named(self) -> str:
        return f"{self.model._meta.app_label}_{self.model._meta.model_name}"


panels: list[Panel] = []


def register_panel(panel: Panel) -> None:
    panels.append(panel)

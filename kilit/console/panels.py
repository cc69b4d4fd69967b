"""What a queue tells the dashboard about itself; each registers one panel, as it registers its sweeps."""

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

Words = str | Promise  # a sentence, perhaps one that is still to be translated


@dataclass(frozen=True)
class Item:
    """One thing to look at: what it is, the way to it, why it is named, and since when."""

    text: str
    href: str = ""
    detail: Words = ""
    since: datetime | None = None


@dataclass(frozen=True)
class Concern:
    """Things that wait for a person, or that a person should know of."""

    title: Words
    hint: Words
    items: Sequence[Item]
    colour: str = "warning"
    total: int | None = None  # when more are known than are named
    href: str = ""  # where all of them are

    @property
    def beyond(self) -> int:
        """How many there are besides those named."""
        return max(0, (self.total or 0) - len(self.items))


class Panel(ABC):
    """A queue on the dashboard; none of its answers may take longer the more rows have ended."""

    title: ClassVar[Words]
    icon: ClassVar[str]
    table: ClassVar[Lifecycle]
    model: ClassVar[type[Model]]
    colours: ClassVar[Mapping[Any, str]]
    well: ClassVar[Collection[str]]  # the states that rows end in well
    badly: ClassVar[Collection[str]]
    oldest_means: ClassVar[Words]
    stuck_means: ClassVar[Words]
    note: ClassVar[Words] = ""  # what else one has to know to read the chart

    def is_for(self, user: "User | AnonymousUser") -> bool:
        """Tell whether a user may see the queue at all."""
        return user.has_perm(f"{self.model._meta.app_label}.view_{self.model._meta.model_name}")

    def scopes_seen_by(self, user: "User | AnonymousUser") -> list[str] | None:
        """Return whose rows a user sees; none means everybody's."""
        return None

    @abstractmethod
    def oldest(self, user: "User | AnonymousUser") -> Item | None:
        """Return what has waited longest."""

    @abstractmethod
    def stuck(self, user: "User | AnonymousUser") -> QuerySet[Any]:
        """Return the rows that should have moved on by now, worst first."""

    @abstractmethod
    def item(self, row: Any) -> Item:
        """Return a stuck row in words."""

    def concerns(self, user: "User | AnonymousUser", totals: Mapping[str, int]) -> Iterable[Concern]:
        """Return what waits for a person; rows per state are known already."""
        return ()

    @property
    def well_words(self) -> str:
        """The states that rows end in well, as the lists call them."""
        return ", ".join(self.well)

    @property
    def badly_words(self) -> str:
        """The states that rows end in badly."""
        return ", ".join(self.badly)

    def list_address(self, **filters: str) -> str:
        """Return the way to the list of rows, narrowed."""
        return reverse(f"admin:{self._named}_changelist", query=filters or None)

    def row_address(self, pk: Any) -> str:
        """Return the way to a row's page."""
        return reverse(f"admin:{self._named}_change", args=[pk])

    @property
    def _named(self) -> str:
        return f"{self.model._meta.app_label}_{self.model._meta.model_name}"


panels: list[Panel] = []


def register(panel: Panel) -> None:
    """Show a queue on the dashboard; called when the queue's admin is loaded."""
    panels.append(panel)

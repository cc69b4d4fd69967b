"""Many sites at once, from a CSV file or a request: what would change, and the change, all of it or nothing."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any

from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from kilit.access.roles import Role
from kilit.csv.reader import CsvLine, RejectedField, read_lines
from kilit.postgres.collation import NameOrder
from kilit.sites.file_lines import AdministeredSites, PlaceName, check_lines, csv_line
from kilit.sites.models import SiteMembership, SiteQuerySet, Tenant
from kilit.sites.site_model import has_site_permission, site_model

PUBLIC_ID, NAME = "publicId", "name"  # sites are recognised by the first, or else by the second
LOGGED = "Imported with other sites."


@dataclass
class SiteChange:
    """A line that creates or changes a site; `changes` has the old and the new value of each column."""

    line: int
    site: Tenant
    changes: dict[str, tuple[object, object]]
    is_new: bool


@dataclass
class SitePlan:
    found: list[SiteChange] = field(default_factory=list)  # one for each valid line
    rejected: list[RejectedField] = field(default_factory=list)

    @property
    def created(self) -> list[SiteChange]:
        return [each for each in self.found if each.is_new]

    @property
    def changed(self) -> list[SiteChange]:
        return [each for each in self.found if each.changes and not each.is_new]

    @property
    def changes(self) -> int:
        return len(self.created) + len(self.changed)


@dataclass(frozen=True)
class SiteFile:
    """A kind of file: what each of its columns stores, and how the text of a cell becomes a value.

    `read` raises a ValueError that says what is wrong; a new site has no id yet.
    """

    stored: Mapping[str, str]
    read: Callable[[str, str, Any], Any]

    @property
    def columns(self) -> tuple[str, ...]:
        return (PUBLIC_ID, *self.stored)

    def lines(self, file: IO[bytes]) -> Iterator[CsvLine]:
        return read_lines(file, known=self.columns, required=(), one_of=(PUBLIC_ID, NAME))

    def store(
        self,
        user: User,
        lines: Iterable[CsvLine],
        *,
        dry_run: bool = False,
        name_place: PlaceName = csv_line,
        logged: str = LOGGED,
    ) -> SitePlan:
        """Create and change sites as one user; if a line is invalid, nothing is stored."""
        with transaction.atomic():
            plan = SitePlanner(self, user, name_place).plan(lines)
            if not plan.rejected and not dry_run:
                self._store(user, plan, logged)
        return plan

    def _store(self, user: User, plan: SitePlan, logged: str) -> None:
        for each in plan.created:
            each.site.save()
            SiteMembership.objects.create(site=each.site, user=user, role=Role.ADMIN)
        for each in plan.changed:
            each.site.save(update_fields=[self.stored[name] for name in each.changes])
        for action, changes in ((ADDITION, plan.created), (CHANGE, plan.changed)):
            LogEntry.objects.log_actions(user.pk, [each.site for each in changes], action, logged)

    def rows(self, sites: SiteQuerySet[Any]) -> Iterator[list[object]]:
        """Return the lines of a file that can be imported again."""
        for site in sites.order_by(NameOrder("name")):
            yield [site.public_id, *(_shown(getattr(site, column)) for column in self.stored.values())]


def _shown(value: object) -> object:
    return ("yes" if value else "no") if isinstance(value, bool) else value


class SitePlanner:
    def __init__(self, file: SiteFile, user: User, name_place: PlaceName) -> None:
        self.file = file
        self.user, self.sites, self.name_place = user, AdministeredSites(user), name_place
        self.seen: dict[str, int] = {}  # lines by the site that they are about

    def plan(self, lines: Iterable[CsvLine]) -> SitePlan:
        return SitePlan(*check_lines(lines, self._change, self.file.columns))

    def _change(self, line: CsvLine) -> SiteChange:
        known, stored = self._site(line), self.file.stored
        self._once(line, known)
        site = known or site_model()()
        values, errors = self._values(line, site)
        changes = {name: (getattr(site, stored[name]), value) for name, value in values.items()}
        for name, value in values.items():
            setattr(site, stored[name], value)
        try:
            site.full_clean(exclude=[site._meta.pk.name], validate_unique=False)  # a new one has no key yet
        except ValidationError as error:
            names = {column: name for name, column in stored.items()}
            errors |= {names.get(column, ""): each for column, each in error.message_dict.items()}
        if errors:
            raise ValidationError(errors)
        kept = {name: pair for name, pair in changes.items() if known is None or pair[0] != pair[1]}
        return SiteChange(line.number, site, kept, is_new=known is None)

    def _site(self, line: CsvLine) -> Tenant | None:
        """Return the site that a line is about; None is a new one."""
        if public_id := line.cells.get(PUBLIC_ID, ""):
            if public_id in self.sites.by_id:
                return self.sites.by_id[public_id]
            raise ValidationError({PUBLIC_ID: _("There is no such site among those you administer.")})
        name = line.cells.get("name", "")
        if not name:
            raise ValidationError({"name": _("A site needs a name, or the public id of one that exists.")})
        site = self.sites.named(name, column="name")
        if site is None and not has_site_permission(self.user, "add"):
            raise ValidationError({"name": _("There is no such site, and you may not add one.")})
        return site

    def _once(self, line: CsvLine, site: Tenant | None) -> None:
        key = str(site.pk) if site else line.cells["name"]
        first = self.seen.setdefault(key, line.number)
        if first != line.number:
            raise ValidationError(_("%(place)s is about the same site.") % {"place": self.name_place(first)})

    def _values(self, line: CsvLine, site: Tenant) -> tuple[dict[str, object], dict[str, list[str]]]:
        """Return what the cells of a line mean, and what is wrong with them; an empty cell leaves a value as it is."""
        values: dict[str, object] = {}
        errors: dict[str, list[str]] = {}
        for name in self.file.stored:
            if text := line.cells.get(name, ""):
                try:
                    values[name] = self.file.read(name, text, site)
                except ValueError as error:
                    errors[name] = [str(error)]
        return values, errors

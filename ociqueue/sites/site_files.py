"""Many sites at once, from a CSV file or a request: what would change, and the change, all of it or nothing."""

from collections.abc import Iterable, Iterator, Sequence
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
from ociqueue.models import Site, SiteMembership
from ociqueue.models.credentials import check_customer_id
from ociqueue.models.site import SiteQuerySet
from ociqueue.sites.admin_lines import AdministeredSites, PlaceName, check_lines, csv_line
from ociqueue.states import DeniedConsent, SyncMethod

# What each column stores; sites are recognised by their public id, or else by their name.
STORED = {
    "name": "name",
    "customerId": "customer_id",
    "currency": "default_currency",
    "timeZone": "time_zone",
    "sender": "sync_method",
    "requeueTransient": "requeue_transient",
    "acceptIdentifiers": "accepts_identifiers",
    "deniedConsent": "denied_consent",
}
COLUMNS = ("publicId", *STORED)
YES, NO = {"yes", "true", "1", "evet"}, {"no", "false", "0", "hayır", "hayir"}
LOGGED = "Imported with other sites."


@dataclass
class SiteChange:
    """A line that creates or changes a site; `changes` has the old and the new value of each column."""

    line: int
    site: Site
    changes: dict[str, tuple[Any, Any]]
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


def read_sites(file: IO[bytes]) -> Iterator[CsvLine]:
    return read_lines(file, known=COLUMNS, required=(), one_of=("publicId", "name"))


def store_sites(
    user: User,
    lines: Iterable[CsvLine],
    *,
    dry_run: bool = False,
    name_place: PlaceName = csv_line,
    logged: str = LOGGED,
) -> SitePlan:
    """Create and change sites as one user; if a line is invalid, nothing is stored."""
    with transaction.atomic():
        plan = SitePlanner(user, name_place).plan(lines)
        if not plan.rejected and not dry_run:
            _store(user, plan, logged)
    return plan


def _store(user: User, plan: SitePlan, logged: str) -> None:
    for each in plan.created:
        each.site.save()
        SiteMembership.objects.create(site=each.site, user=user, role=Role.ADMIN)
    for each in plan.changed:
        each.site.save(update_fields=[STORED[name] for name in each.changes])
    for action, changes in ((ADDITION, plan.created), (CHANGE, plan.changed)):
        LogEntry.objects.log_actions(user.pk, [each.site for each in changes], action, logged)


def site_rows(sites: SiteQuerySet) -> Iterator[list[Any]]:
    """Return the lines of a file that can be imported again."""
    for site in sites.order_by(NameOrder("name")):
        yield [site.public_id, *(_shown(getattr(site, column)) for column in STORED.values())]


def _shown(value: Any) -> Any:
    return ("yes" if value else "no") if isinstance(value, bool) else value


class SitePlanner:
    def __init__(self, user: User, name_place: PlaceName) -> None:
        self.user, self.sites, self.name_place = user, AdministeredSites(user), name_place
        self.seen: dict[str, int] = {}  # lines by the site that they are about

    def plan(self, lines: Iterable[CsvLine]) -> SitePlan:
        return SitePlan(*check_lines(lines, self._change, COLUMNS))

    def _change(self, line: CsvLine) -> SiteChange:
        found = self._site(line)
        self._once(line, found)
        site = found or Site()
        values, errors = _values(line, site, is_new=found is None)
        changes = {name: (getattr(site, STORED[name]), value) for name, value in values.items()}
        for name, value in values.items():
            setattr(site, STORED[name], value)
        try:
            site.full_clean(validate_unique=False)
        except ValidationError as error:
            names = {column: name for name, column in STORED.items()}
            errors |= {names.get(column, ""): each for column, each in error.message_dict.items()}
        if errors:
            raise ValidationError(errors)
        kept = {name: pair for name, pair in changes.items() if found is None or pair[0] != pair[1]}
        return SiteChange(line.number, site, kept, is_new=found is None)

    def _site(self, line: CsvLine) -> Site | None:
        """Return the site that a line is about; None is a new one."""
        if public_id := line.cells.get("publicId", ""):
            if public_id in self.sites.by_id:
                return self.sites.by_id[public_id]
            raise ValidationError({"publicId": _("There is no such site among those you administer.")})
        name = line.cells.get("name", "")
        if not name:
            raise ValidationError({"name": _("A site needs a name, or the public id of one that exists.")})
        try:
            found = self.sites.named(name)
        except ValidationError as error:
            raise ValidationError({"name": error.messages}) from None
        if found is None and not self.user.has_perm("ociqueue.add_site"):
            raise ValidationError({"name": _("There is no such site, and you may not add one.")})
        return found

    def _once(self, line: CsvLine, site: Site | None) -> None:
        key = str(site.pk) if site else line.cells["name"]
        first = self.seen.setdefault(key, line.number)
        if first != line.number:
            raise ValidationError(_("%(place)s is about the same site.") % {"place": self.name_place(first)})


def _values(line: CsvLine, site: Site, *, is_new: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the cells of a line mean, and what is wrong with them; an empty cell leaves a value as it is."""
    values: dict[str, Any] = {}
    errors: dict[str, Any] = {}
    for name in STORED:
        if text := line.cells.get(name, ""):
            try:
                values[name] = _read(name, text, site, is_new=is_new)
            except ValueError as error:
                errors[name] = [str(error)]
    return values, errors


def _read(name: str, text: str, site: Site, *, is_new: bool) -> Any:
    match name:
        case "customerId":
            return check_customer_id(site, text)
        case "currency":
            return text.upper()
        case "sender":
            return _read_sender(text, site, is_new=is_new)
        case "deniedConsent":
            return _read_choice(text.upper(), DeniedConsent.values)
        case "requeueTransient" | "acceptIdentifiers":
            if text.casefold() not in YES | NO:
                raise ValueError(_("Use yes or no."))
            return text.casefold() in YES
    return text


def _read_choice(text: str, values: Sequence[str]) -> str:
    if text not in values:
        raise ValueError(_("Use one of %(values)s.") % {"values": ", ".join(values)})
    return text


def _read_sender(text: str, site: Site, *, is_new: bool) -> str:
    _read_choice(text, SyncMethod.values)
    if not is_new and text != site.sync_method:
        raise ValueError(_("Change the sender on the site's page, which shows what becomes of its rows."))
    return text

"""What files of sites and of members have in common: each line is checked, and the sites are those of an admin."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from kilit.csv.reader import CsvLine, RejectedField, shorten
from kilit.sites.models import Tenant
from kilit.sites.site_model import has_site_permission, sites

MOST_LINES = 5000
Change = TypeVar("Change")
PlaceName = Callable[[int], str]  # what people call a line, or an item of a request


def csv_line(number: int) -> str:
    return _("Line %(line)s") % {"line": number}


class AdministeredSites:
    """The sites that a user administers, locked: what is checked here is stored in the same transaction.

    Their keys stay as they are, so requests that store conversions of these sites do not wait for the lock.
    """

    def __init__(self, user: User) -> None:
        own = sites().administered_by(user) if has_site_permission(user, "change") else sites().none()
        locked = own.select_for_update(no_key=True).order_by("pk")
        self.by_id: dict[str, Tenant] = {site.public_id: site for site in locked}
        self._by_name: dict[str, list[Tenant]] = {}
        for site in self.by_id.values():
            self._by_name.setdefault(site.name, []).append(site)

    def named(self, name: str, *, column: str) -> Tenant | None:
        found = self._by_name.get(name, [])
        if len(found) > 1:
            raise ValidationError({column: _("Several sites have this name; write the public id.")})
        return found[0] if found else None


def check_lines(
    lines: Iterable[CsvLine], read: Callable[[CsvLine], Change], columns: Sequence[str]
) -> tuple[list[Change], list[RejectedField]]:
    """Read each line; return what it means, and everything that is wrong."""
    found: list[Change] = []
    rejected: list[RejectedField] = []
    for count, line in enumerate(lines, start=1):
        if count > MOST_LINES:
            rejected.append(RejectedField(line.number, "", _("More than %(most)s lines.") % {"most": MOST_LINES}))
            break
        if line.fault:
            rejected.append(RejectedField(line.number, "", line.fault))
            continue
        try:
            found.append(read(line))
        except ValidationError as error:
            rejected += _rejected(line, error, columns)
    return found, rejected


def _rejected(line: CsvLine, error: ValidationError, columns: Sequence[str]) -> Iterator[RejectedField]:
    found = error.message_dict if hasattr(error, "error_dict") else {"": error.messages}
    for name, messages in found.items():
        column = name if name in columns else ""
        yield RejectedField(line.number, column, " ".join(messages), shorten(line.cells.get(column, "")))

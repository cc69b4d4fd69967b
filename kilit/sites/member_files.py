"""Many members at once, from a CSV file or a request: who gets which role at which site, all of it or nothing.

The rules are those of the pages: an admin adds people whom the admin may know, and new ones, to the admin's own sites;
only owners add, change and remove admins.
"""

import re
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import IO, Any

from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.contrib.auth.hashers import PBKDF2PasswordHasher, make_password
from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from kilit.access.roles import SITE_ROLES, Role, is_owner
from kilit.csv.reader import CsvLine, RejectedField, read_lines
from kilit.sites.file_lines import AdministeredSites, PlaceName, check_lines, csv_line
from kilit.sites.models import MAY_ACT, SiteMembership, SiteQuerySet, Tenant
from kilit.sites.people import KEYS_USERS, people_seen_by

COLUMNS = ("username", "email", "firstName", "lastName", "site", "role")
SITE_NAME = "siteName"  # in exported files, for the reader
NO_ROLE = "none"  # ends a membership
ROLES = [*(role.value for role in SITE_ROLES), NO_ROLE]
# A first password is 128 random bits, so a short hash is as safe as a slow one. The first login stores the slow one.
PASSWORD_BYTES = 16
PASSWORD_ROUNDS = 1000
LOGGED = "Changed with other members."


@dataclass
class MemberChange:
    """A line that gives a person a role at a site, or ends it; the roles are empty where there is none."""

    line: int
    person: User
    site: Tenant
    before: str
    after: str

    @property
    def is_change(self) -> bool:
        return self.before != self.after


@dataclass
class MemberPlan:
    found: list[MemberChange] = field(default_factory=list)  # one for each valid line
    rejected: list[RejectedField] = field(default_factory=list)
    people: dict[str, User] = field(default_factory=dict)  # new ones, by username
    passwords: dict[str, str] = field(default_factory=dict)  # of new people, known only now

    @property
    def changed(self) -> list[MemberChange]:
        return [each for each in self.found if each.is_change]

    def missing_group(self, change: MemberChange) -> str:
        """Return the group that a person needs to act in their role, and lacks; new people have it."""
        person = change.person
        if change.after not in MAY_ACT or person.is_superuser or person.username in self.people:
            return ""
        enough = list(Role)[list(Role).index(Role(change.after)) :]
        return "" if {group.name for group in person.groups.all()} & {*enough} else change.after

    @property
    def changes(self) -> int:
        return len(self.changed)


def read_members(file: IO[bytes]) -> Iterator[CsvLine]:
    return read_lines(file, known=COLUMNS, required=("username", "site", "role"), ignored=(SITE_NAME,))


def managed_members(sites: SiteQuerySet[Any]) -> QuerySet[SiteMembership]:
    """Return the members of sites, without the technical users that own keys."""
    members = SiteMembership.objects.filter(site__in=sites).exclude(user__username__regex=KEYS_USERS)
    return members.select_related("user", "site")


def member_rows(sites: SiteQuerySet[Any]) -> Iterator[list[object]]:
    """Return the lines of a file that can be imported again."""
    for each in managed_members(sites).order_by("user__username", "site__name", "pk"):
        person = each.user
        about = [person.username, person.email, person.first_name, person.last_name]
        yield [*about, each.site.public_id, each.role, each.site.name]


def store_members(
    user: User,
    lines: Iterable[CsvLine],
    *,
    dry_run: bool = False,
    name_place: PlaceName = csv_line,
    logged: str = LOGGED,
) -> MemberPlan:
    """Give and end roles as one user; if a line is invalid, nothing is stored."""
    with transaction.atomic():
        plan = MemberPlanner(user, name_place).plan(lines)
        if not plan.rejected and not dry_run:
            _store(user, plan, logged)
    return plan


def _store(user: User, plan: MemberPlan, logged: str) -> None:
    groups = {group.name: group for group in Group.objects.filter(name__in=SITE_ROLES)}
    for name, person in plan.people.items():
        password = plan.passwords[name] = secrets.token_urlsafe(PASSWORD_BYTES)
        hasher = PBKDF2PasswordHasher()
        person.password = hasher.encode(password, hasher.salt(), iterations=PASSWORD_ROUNDS)
        person.save()
        # The role lets a person act at all, the memberships say where: the highest one is needed.
        held = {each.after for each in plan.found if each.person is person}
        person.groups.add(groups[[role for role in SITE_ROLES if role in held][-1]])
    for each in plan.changed:
        memberships = SiteMembership.objects.filter(site=each.site, user=each.person)
        if each.after:
            memberships.update_or_create(site=each.site, user=each.person, defaults={"role": each.after})
        else:
            memberships.delete()
    LogEntry.objects.log_actions(user.pk, list(plan.people.values()), ADDITION, logged)
    sites = {each.site.pk: each.site for each in plan.changed}
    LogEntry.objects.log_actions(user.pk, list(sites.values()), CHANGE, f'{logged} "site membership"')


class MemberPlanner:
    def __init__(self, user: User, name_place: PlaceName) -> None:
        self.user, self.sites, self.name_place = user, AdministeredSites(user), name_place
        self.known = {person.username: person for person in people_seen_by(user).prefetch_related("groups")}
        held = SiteMembership.objects.filter(site__in=self.sites.by_id.values()).values_list("user", "site", "role")
        self.roles = {(person, site): role for person, site, role in held}
        self.people: dict[str, User] = {}  # new ones
        self.seen: dict[tuple[str, object], int] = {}

    def plan(self, lines: Iterable[CsvLine]) -> MemberPlan:
        found, rejected = check_lines(lines, self._change, COLUMNS)
        return MemberPlan(found, rejected, self.people)

    def _change(self, line: CsvLine) -> MemberChange:
        site, role = self._site(line.cells.get("site", "")), self._role(line.cells.get("role", ""))
        name = line.cells.get("username", "")
        person = self.known.get(name) or self.people.get(name) or self._new_person(line, role)
        before = self.roles.get((person.pk, site.pk), "")
        after = "" if role == NO_ROLE else role
        if Role.ADMIN in (before, after) and before != after and not is_owner(self.user):
            raise ValidationError({"role": _("Only owners add, change and remove admins.")})
        first = self.seen.setdefault((name, site.pk), line.number)
        if first != line.number:
            message = _("%(place)s has the same person and site.") % {"place": self.name_place(first)}
            raise ValidationError({"username": message})
        if person.pk is None:
            self.people[name] = person
        return MemberChange(line.number, person, site, before, after)

    def _site(self, text: str) -> Tenant:
        site = self.sites.by_id.get(text) or self.sites.named(text, column="site")
        if site is None:
            raise ValidationError({"site": _("There is no such site among those you administer.")})
        return site

    def _role(self, text: str) -> str:
        role = text.casefold()
        if role not in ROLES:
            raise ValidationError({"role": _("Use one of %(values)s.") % {"values": ", ".join(ROLES)}})
        return role

    def _new_person(self, line: CsvLine, role: str) -> User:
        name = line.cells.get("username", "")
        if User.objects.filter(username=name).exists():
            message = _("This username is taken by a person whom you may not add; ask an owner.")
            raise ValidationError({"username": message})
        if role == NO_ROLE:
            raise ValidationError({"username": _("There is no such person.")})
        if not self.user.has_perm("auth.add_user"):
            raise ValidationError({"username": _("There is no such person, and you may not add one.")})
        cells = line.cells
        person = User(username=name, email=cells.get("email", ""), is_staff=True, password=make_password(None))
        person.first_name, person.last_name = cells.get("firstName", ""), cells.get("lastName", "")
        _check_person(person)
        return person


def _check_person(person: User) -> None:
    try:
        person.full_clean()
    except ValidationError as error:
        names = {"first_name": "firstName", "last_name": "lastName"}
        raise ValidationError(
            {names.get(column, column): each for column, each in error.message_dict.items()}
        ) from None
    if re.match(KEYS_USERS, person.username):
        raise ValidationError({"username": _("This name is reserved for the keys of a site. Choose another one.")})

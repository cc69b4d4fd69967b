"""Scopes: parts of the installation that users are members of, which are sites. The app that has them registers them.

A scope is a site's id as text, as counts, error groups and bulk actions store it. Other apps ask here, and need not
know what a site is. The empty scope is the whole installation.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from django.contrib.auth.models import User
from django.db.models import QuerySet

INSTALLATION = ""


class ScopeSource(Protocol):
    def names(self) -> Mapping[str, str]:
        """Return the name of every scope by its id."""
        ...

    def choices(self) -> Mapping[str, str]:
        """Return those in use by their ids, each with what tells it from others of a similar name."""
        ...

    def public_ids(self) -> Mapping[str, str]:
        """Return the id by which callers of the API know each scope, by its id."""
        ...

    def seen_by(self, user: Any) -> list[str] | None:
        """Return the scopes that a user sees; None means all."""
        ...

    def run_by(self, user: Any) -> list[str] | None:
        """Return the scopes in which a user may act; None means all."""
        ...

    def people_seen_by(self, user: Any) -> QuerySet[User]:
        """Return the people that an admin may know of."""
        ...

    def people_managed_by(self, user: Any) -> QuerySet[User]:
        """Return the people whose accounts an admin may change."""
        ...

    def key_owners_managed_by(self, user: Any) -> QuerySet[User]:
        """Return the users, also technical ones, whose keys an admin sees and revokes."""
        ...


_sources: list[ScopeSource] = []


def register_scopes(source: ScopeSource) -> None:
    _sources[:] = [source]


def scope_names() -> Mapping[str, str]:
    return _sources[0].names() if _sources else {}


def scope_choices() -> Mapping[str, str]:
    return _sources[0].choices() if _sources else {}


def scope_public_ids() -> Mapping[str, str]:
    return _sources[0].public_ids() if _sources else {}


def scopes_seen_by(user: Any) -> list[str] | None:
    return _sources[0].seen_by(user) if _sources else []


def scopes_run_by(user: Any) -> list[str] | None:
    return _sources[0].run_by(user) if _sources else []


def people_seen_by(user: Any) -> QuerySet[User]:
    return _sources[0].people_seen_by(user) if _sources else User.objects.none()


def people_managed_by(user: Any, *, itself: bool = False) -> QuerySet[User]:
    """Return the people whose accounts a user may change, with the user's own if asked for."""
    people = _sources[0].people_managed_by(user) if _sources else User.objects.none()
    return people | User.objects.filter(pk=user.pk) if itself else people


def key_owners_managed_by(user: Any) -> QuerySet[User]:
    return _sources[0].key_owners_managed_by(user) if _sources else User.objects.none()

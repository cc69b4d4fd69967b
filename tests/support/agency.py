"""Keys that manage sites and members."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.auth.models import Group, User

from kilit.access.key_scopes import KeyScope
from kilit.access.models import ApiKey
from kilit.sites.models import SiteMembership
from ociqueue.models import Site
from tests.support.conversions import Api


def make_admin(name: str = "agency", *, sites: dict[Site, str] | None = None) -> User:
    """Make a person with the role admin, and a role at each of some sites."""
    user = User.objects.create_user(name, is_staff=True)
    user.groups.set(Group.objects.filter(name="admin"))
    for site, role in (sites or {}).items():
        SiteMembership.objects.create(site=site, user=user, role=role)
    return user


def issue_admin_key(user: User, **columns: Any) -> str:
    in_a_week = datetime.now(UTC) + timedelta(days=7)
    text = ApiKey.objects.issue(user, name="provisioning", scopes=[KeyScope.ADMIN], expires_at=in_a_week)[1]
    ApiKey.objects.filter(user=user).update(**columns)
    return text


def agency_api(user: User) -> Api:
    return Api(issue_admin_key(user))

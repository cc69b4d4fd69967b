"""Keys that manage sites and members."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.auth.models import User

from kilit.access.key_scopes import KeyScope
from kilit.access.models import ApiKey
from tests.support.api import Api
from tests.support.people import Memberships, make_user


def make_admin(name: str = "agency", *, sites: Memberships = ()) -> User:
    return make_user(name, role="admin", sites=sites)


def issue_admin_key(user: User, **columns: Any) -> str:
    in_a_week = datetime.now(UTC) + timedelta(days=7)
    text = ApiKey.objects.issue(user, name="provisioning", scopes=[KeyScope.ADMIN], expires_at=in_a_week)[1]
    ApiKey.objects.filter(user=user).update(**columns)
    return text


def faults(answer: Any) -> dict[str, str]:
    """Return what is wrong with each field of a refused request."""
    assert answer.status_code == 400, answer.content
    return {each["field"]: each["message"] for each in answer.json()["error"]["fields"]}


def agency_api(user: User, *, root: str = "/api/") -> Api:
    return Api(issue_admin_key(user), root=root)

"""A web server that strangers reach without a proxy, as a problem."""

from collections.abc import Iterator

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.utils.translation import gettext as _

from kilit.problems.kinds import ProblemKind
from kilit.problems.registry import Problem, Severity


def find(user: User | AnonymousUser) -> Iterator[Problem]:
    if settings.IS_EXPOSED and user.has_perm("workers.view_heartbeat"):
        yield Problem(
            part="installation",
            kind=ProblemKind.NO_PROXY,
            severity=Severity.NOTICE,
            title=_("The web server is reached without a proxy"),
            cause=_("a few slow clients can stop it"),
            advice=_("Put nginx or Caddy in front of it, and set KILIT_PROXIES."),
        )

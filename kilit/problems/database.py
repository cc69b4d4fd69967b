"""A PostgreSQL that lacks fixes, as a problem: a newer minor version of its programs is installed on this machine.

No one is asked over the network. The programs that backups use, the wheel's among them, are updated with the system and
with Kilit; the server has to be updated, and restarted, by someone.
"""

from collections.abc import Iterator
from functools import cache

from django.contrib.auth.models import AnonymousUser, User
from django.db import connection
from django.utils.translation import gettext as _

from kilit.backup.programs import installed_programs
from kilit.problems.kinds import ProblemKind
from kilit.problems.registry import Problem, Severity

PART = "installation"


def find(user: User | AnonymousUser) -> Iterator[Problem]:
    if not user.has_perm("workers.view_heartbeat"):
        return
    major, minor = divmod(connection.pg_version, 10_000)  # type: ignore[attr-defined]
    if minor < (newest := newest_minor(major)):
        yield Problem(
            part=PART,
            kind=ProblemKind.SERVER_BEHIND,
            severity=Severity.NOTICE,
            title=_("PostgreSQL %(version)s lacks the fixes of %(newest)s")
            % {"version": f"{major}.{minor}", "newest": f"{major}.{newest}"},
            cause=_("newer programs are installed here than the server runs"),
            advice=_("Update the server, and restart it."),
        )


@cache
def newest_minor(major: int) -> int:
    """Return the newest minor version of the programs on this machine, or 0; they are started once in a process."""
    versions = (program.version.partition(".") for program in installed_programs("pg_dump", with_tls=False))
    return max((int(minor) for number, _dot, minor in versions if number == str(major) and minor), default=0)

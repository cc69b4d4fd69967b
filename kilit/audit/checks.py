"""Checks of the audit that an app registers for its own tables, beside those of the event log.

    register_audit_check("money", amounts_that_differ)    # in the app's registrations

Every audit runs all of them, each in a snapshot of its own. A check yields one sentence for each thing that is wrong
(kilit.sentences, so that each reader gets it in their own language) and has a few seconds for it.
"""

from collections.abc import Callable, Iterable

AuditCheck = Callable[[], Iterable[str]]
checks: dict[str, AuditCheck] = {}


def register_audit_check(name: str, find: AuditCheck) -> None:
    """Add a check under a name that reports show, such as the name of a queue."""
    checks[name] = find

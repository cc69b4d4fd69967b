"""Two sites with failed rows, keys of four kinds, and a request of each verb, for tests of what is asked."""

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User

from kilit.access.key_scopes import KeyScope
from kilit.access.models import ApiKey
from kilit.ask import acting, reading  # noqa: F401 - they declare the verbs
from kilit.ask.verbs import VERBS
from kilit.lock.models import ErrorGroup
from ociqueue.models import Conversion, Site
from orchestrator.models import Job
from outbox.models import OutboxMessage
from tests.support import cutting_jobs
from tests.support.conversions import make_failed
from tests.support.outbox import make_endpoint, make_failed_message
from tests.support.people import make_user

READS = [name for name, verb in VERBS.items() if not verb.acts]
ACTS = [name for name, verb in VERBS.items() if verb.acts]
# What each kind of key is offered.
OFFERS = {"reads": READS, "acts": [*READS, *ACTS], "site": READS, "owner": [*READS, *ACTS]}


@dataclass
class AskWorld:
    site: Site
    other: Site
    failed: Conversion
    foreign: Conversion
    message: OutboxMessage
    foreign_message: OutboxMessage
    held: Job
    keys: dict[str, str]

    @property
    def marks(self) -> set[str]:
        """What is in no answer for the first site's people."""
        return {
            "portakal",
            self.other.public_id,
            str(self.other.pk),
            str(self.foreign.pk),
            str(self.foreign_message.pk),
        }

    def requests(self) -> dict[str, dict[str, Any]]:
        """Return a request of each verb about the key's own rows."""
        why = {"reason": "It is fixed."}
        own = str(self.failed.pk)
        return {
            "problems": {},
            "find": {"text": own},
            "explain": {"job": own},
            "error_groups": {},
            "site_health": {},
            "queue_stats": {},
            "retry": {"ids": [own], **why},
            "mark_failed": {"ids": [own], **why},
            "approve": {"ids": [str(self.held.pk)], **why},
            "pause": {"queue": "pdf", **why},
            "resume": {"queue": "pdf", **why},
        }

    def foreign_requests(self) -> list[tuple[str, dict[str, Any]]]:
        """Return requests of every verb that are about the other site."""
        row, why = str(self.foreign.pk), {"reason": "It is fixed."}
        (group,) = {group.name for group in ErrorGroup.objects.largest(queue="conversion", scopes=[str(self.other.pk)])}
        texts = [row, str(self.foreign), str(self.foreign_message.pk), "portakal", self.foreign.source_key]
        return [
            ("problems", {}),
            ("error_groups", {}),
            ("queue_stats", {}),
            ("site_health", {}),
            *(("find", {"text": text}) for text in texts),
            *(("explain", {"job": text}) for text in texts),
            *(("site_health", {"site": text}) for text in (self.other.public_id, str(self.other.pk), "portakal")),
            *((verb, {"ids": [row], **why}) for verb in ("retry", "mark_failed", "approve")),
            *((verb, {"ids": [str(self.foreign_message.pk)], **why}) for verb in ("retry", "mark_failed")),
            *((verb, {"queue": "conversion", "group": group, **why}) for verb in ("retry", "mark_failed")),
            *((verb, {"site": self.other.public_id, **why}) for verb in ("pause", "resume")),
        ]


def make_key(user: User, *scopes: str, name: str = "laptop") -> str:
    return ApiKey.objects.issue(user, name=name, scopes=scopes)[1]


def make_world() -> AskWorld:
    site, other = sites = [
        Site.objects.create(name=f"{word} shop", default_currency="TRY") for word in ("zeytin", "portakal")
    ]
    rows = [
        row
        for site in sites
        for row in make_failed(
            site, message=f"refused at {site.name}: +90 532 123 45 67", source_key=f"{site.name[:6]}-7"
        )
    ]
    messages = [
        make_failed_message(endpoint=make_endpoint(url=f"https://{site.name[:6]}.example", scope=str(site.pk)))
        for site in sites
    ]
    operator, owner = make_user("ayse", sites=[site]), make_user("owner", role="owner")
    keys = {
        "reads": make_key(operator, KeyScope.READ),
        "acts": make_key(operator, KeyScope.READ, KeyScope.OPERATE),
        "site": site.issue_key(name="script"),
        "owner": make_key(owner, KeyScope.READ, KeyScope.OPERATE),
    }
    (failed, foreign), (message, foreign_message) = rows, messages
    return AskWorld(site, other, failed, foreign, message, foreign_message, cutting_jobs.held(), keys)

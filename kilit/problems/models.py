"""Records of problems: each opens when a problem is first seen, and closes ten minutes after it was last seen."""

from datetime import datetime, timedelta
from typing import Any, Self

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.db import models
from django.db.models import Q
from django.db.models.expressions import Combinable
from django.db.models.functions import Now
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from kilit.access.roles import is_owner
from kilit.lock.audit import current_context
from kilit.lock.constraints import checks
from kilit.lock.guard import LifecycleModel, LifecycleQuerySet
from kilit.lock.text import strip_control_chars
from kilit.lock.triggers import lifecycle_triggers
from kilit.problems.states import PROBLEMS, ProblemState

# One that comes back within this time is the same one.
CLOSE_AFTER = timedelta(minutes=10)


class ProblemRecordQuerySet(LifecycleQuerySet["ProblemRecord"]):
    def open(self) -> Self:
        return self.filter(status=ProblemState.OPEN)

    def closed(self) -> Self:
        return self.filter(status=ProblemState.CLOSED)

    def seen_by(self, user: User | AnonymousUser) -> Self:
        """Return the records made for a user: owners read those of the whole installation."""
        return self.filter(reader=None if is_owner(user) else user.pk)

    def to_mute(self, user: User | AnonymousUser) -> "dict[str, ProblemRecord]":
        """Return the records of problems whose alerts a user may mute, by the problem's key."""
        if not user.has_perm("problems.operate_problemrecord"):
            return {}
        rows = self.open().seen_by(user).only("id", "key", "muted_until", "mute_reason")
        return {record.key: record for record in rows}

    def close_unseen(self) -> int:
        return self.filter(seen_at__lt=Now() - CLOSE_AFTER).move("close", closed_at=Now())

    def mute(self, *, reason: str, until: datetime | Combinable) -> int:
        """Send no alerts about these until then, and store who asked for it and why."""
        actor = strip_control_chars(current_context().actor)
        return self.open().update(muted_until=until, mute_reason=strip_control_chars(reason), muted_by=actor)

    def unmute(self) -> int:
        return self.open().update(muted_until=None, mute_reason="", muted_by="")


class ProblemRecord(LifecycleModel):
    """A problem as one reader sees it, from when it was first seen until it is gone."""

    lifecycle = PROBLEMS

    status = models.CharField("state", max_length=8, choices=ProblemState, default=ProblemState.OPEN, editable=False)
    # Counts and texts contain only what this user may see. Without one, they are about the whole installation.
    reader = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+", db_index=False
    )
    key = models.CharField(max_length=300)
    part = models.CharField(_("part"), max_length=32)
    kind = models.CharField(_("kind"), max_length=32)
    severity = models.PositiveSmallIntegerField(_("severity"))
    count = models.PositiveIntegerField(_("count"), default=1)
    texts = models.JSONField(help_text="By language: title, cause and where. No personal data.")
    scopes = models.JSONField(default=list, help_text="Ids of the sites that are named.")
    has_more_scopes = models.BooleanField(default=False, help_text="There are more sites than those named.")
    link = models.CharField(max_length=1000, blank=True, help_text="The path of the page that shows it.")
    since = models.DateTimeField(null=True, help_text="Since when it exists, where that is known.")
    opened_at = models.DateTimeField(_("opened at"), db_default=Now())
    seen_at = models.DateTimeField(_("last seen at"), db_default=Now())
    closed_at = models.DateTimeField(_("closed at"), null=True)
    muted_until = models.DateTimeField(_("muted until"), null=True)
    mute_reason = models.CharField(_("reason"), max_length=200, blank=True)
    muted_by = models.CharField(_("muted by"), max_length=200, blank=True)

    objects = ProblemRecordQuerySet.as_manager()

    class Meta(LifecycleModel.Meta):
        abstract = False
        verbose_name, verbose_name_plural = _("problem"), _("problems")
        default_permissions = ("view", "operate", "change")  # type: ignore[assignment]
        triggers = lifecycle_triggers(
            PROBLEMS, facts=["key", "count"], finished=[ProblemState.CLOSED], fixed=["reader_id", "key"]
        )
        constraints = [
            # Of two trackers that see a new problem at once, one opens its record.
            models.UniqueConstraint(
                fields=["key"], condition=Q(status=ProblemState.OPEN, reader=None), name="one_open_problem"
            ),
            models.UniqueConstraint(
                fields=["reader", "key"], condition=Q(status=ProblemState.OPEN), name="one_open_problem_per_reader"
            ),
            *checks(
                problem_closed_at_iff_closed=Q(status=ProblemState.OPEN, closed_at=None)
                | Q(status=ProblemState.CLOSED, closed_at__isnull=False),
                problem_mute_has_reason=Q(muted_until=None) | ~Q(mute_reason=""),
            ),
        ]
        indexes = [
            # Alerts look for what closed since their last round; pages list the newest first.
            models.Index(fields=["reader", "closed_at"], name="problem_closed"),
            # Pruning follows the order of ids.
            models.Index(fields=["id"], condition=Q(status=ProblemState.CLOSED), name="problem_prunable"),
        ]

    @property
    def began_at(self) -> datetime:
        return min(self.since or self.opened_at, self.opened_at)

    @property
    def lasted(self) -> timedelta:
        """Return how long it existed; the wait before it closes does not count."""
        return self.seen_at - self.began_at

    def text(self, name: str, language: str | None = None) -> Any:
        """Return its title, cause, code, advice or where, in a language or else in the first that is stored."""
        texts = self.texts.get(language or get_language() or "") or next(iter(self.texts.values()))
        return texts.get(name, "")

    @property
    def title(self) -> str:
        return str(self.text("title"))

"""How many requests a Google Cloud project may still send: a token bucket, shared by all processes and sites."""

import hashlib
from typing import Any, Self

from django.db import models
from django.db.models import ExpressionWrapper, F, FloatField, Value
from django.db.models.functions import Extract, Greatest, Least, Now

# Google allows 300 requests in any minute. A full bucket and what is refilled in a minute are 60 + 240 of them.
CAPACITY, REFILL = 60, 4.0
# Of them at most 60 questions for verdicts, 10 + 50; and they leave tokens for uploads, which come first.
ASK_CAPACITY, ASK_REFILL, LEFT_FOR_UPLOADS = 10, 50 / 60, 30


def _level(tokens: str, refilled_at: str, *, capacity: int, refill: float) -> Any:
    """Return how many tokens a bucket has now. After a wait for its lock, another may have refilled it later."""
    passed = Greatest(Extract(Now() - F(refilled_at), "epoch"), Value(0.0), output_field=FloatField())
    filled = ExpressionWrapper(F(tokens) + passed * Value(refill), output_field=FloatField())
    return Least(filled, Value(float(capacity)), output_field=FloatField())


LEVEL = _level("tokens", "refilled_at", capacity=CAPACITY, refill=REFILL)
ASK_LEVEL = _level("ask_tokens", "ask_refilled_at", capacity=ASK_CAPACITY, refill=ASK_REFILL)


class RequestQuotaQuerySet(models.QuerySet["RequestQuota"]):
    def of(self, project: str) -> Self:
        """Return the bucket of a project; its name is not stored, only its hash."""
        digest = hashlib.sha256(project.encode()).hexdigest()
        self.bulk_create([RequestQuota(project=digest)], ignore_conflicts=True)
        return self.filter(project=digest)

    def with_tokens(self, least: int = 1) -> Self:
        return self.alias(level=LEVEL).filter(level__gte=least)

    def take(self) -> bool:
        """Take a token for an upload; the row count decides between two workers."""
        taken = {"tokens": LEVEL - Value(1.0), "refilled_at": Greatest("refilled_at", Now())}
        return bool(self.with_tokens().update(**taken))

    def take_question(self) -> bool:
        question_taken = {"ask_tokens": ASK_LEVEL - Value(1.0), "ask_refilled_at": Greatest("ask_refilled_at", Now())}
        taken = {"tokens": LEVEL - Value(1.0), "refilled_at": Greatest("refilled_at", Now())}
        allowed = self.with_tokens(LEFT_FOR_UPLOADS + 1).alias(ask_level=ASK_LEVEL).filter(ask_level__gte=1)
        return bool(allowed.update(**question_taken, **taken))


class RequestQuota(models.Model):
    project = models.CharField(max_length=64, primary_key=True)
    tokens = models.FloatField(default=CAPACITY)
    refilled_at = models.DateTimeField(db_default=Now())
    ask_tokens = models.FloatField(default=ASK_CAPACITY)
    ask_refilled_at = models.DateTimeField(db_default=Now())

    objects = RequestQuotaQuerySet.as_manager()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"quota of {self.project[:12]}"

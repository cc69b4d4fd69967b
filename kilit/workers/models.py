"""Heartbeats of supervisors and runners, ringing doorbells, and the last run of each sweep."""

from datetime import timedelta
from typing import Any, Self

from django.db import models
from django.db.models.functions import Coalesce, Now
from django.utils.translation import gettext_lazy as _

ALIVE_FOR = timedelta(seconds=30)
FORGET_AFTER = timedelta(days=1)


class LifeQuerySet(models.QuerySet[Any]):
    def alive(self) -> Self:
        return self.filter(alive_at__gt=Now() - ALIVE_FOR)

    def long_gone(self) -> Self:
        return self.annotate(seen_at=Coalesce("alive_at", "started_at")).filter(seen_at__lt=Now() - FORGET_AFTER)


class Heartbeat(models.Model):
    """One supervisor and its cluster.

    `beat_at` is the time of the last task that was fetched, run and acknowledged. `alive_at` is the last time the
    supervisor considered the cluster alive, which it also is while every worker is busy within the time of a task.
    """

    name = models.CharField(max_length=90, primary_key=True)  # also the name of its cluster's queue
    pid = models.IntegerField(null=True)
    workers = models.PositiveSmallIntegerField(db_default=1)  # processes that run tasks
    restarts = models.IntegerField(default=0)
    started_at = models.DateTimeField(db_default=Now())
    beat_at = models.DateTimeField(null=True)
    alive_at = models.DateTimeField(null=True)

    objects = LifeQuerySet.as_manager()

    class Meta:
        default_permissions = ("view",)

    def __str__(self) -> str:
        return self.name


class Runner(models.Model):
    """A process that works one queue on its own, beside the workers; it updates `alive_at` every few seconds."""

    name = models.CharField(max_length=90, primary_key=True)
    queue = models.CharField(max_length=32)
    pid = models.IntegerField()
    started_at = models.DateTimeField(db_default=Now())
    alive_at = models.DateTimeField(db_default=Now())
    hindrance = models.CharField(
        max_length=1000, blank=True, default="", db_default="", help_text="Why it takes no jobs."
    )

    objects = LifeQuerySet.as_manager()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return self.name


class Bell(models.Model):
    """A doorbell; `rung_at` is set from the ring until a worker handles it, so that rings in between coalesce."""

    name = models.CharField(max_length=64, primary_key=True)
    rung_at = models.DateTimeField(null=True)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return self.name


class SweepRun(models.Model):
    name = models.CharField(max_length=64, primary_key=True)
    taken_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    succeeded = models.BooleanField(null=True)
    result = models.TextField(blank=True)

    class Meta:
        default_permissions = ("view", "operate")
        verbose_name, verbose_name_plural = _("scheduled task"), _("scheduled tasks")

    def __str__(self) -> str:
        return self.name

    @classmethod
    def note(cls, name: str, **columns: object) -> None:
        if not cls.objects.filter(name=name).update(**columns):
            cls.objects.update_or_create(name=name, defaults=columns)

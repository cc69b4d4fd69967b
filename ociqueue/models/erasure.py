"""Records of erasure: that a person's data was removed, by whom and from how many rows, and not whose."""

from typing import Self

import pgtrigger
from django.contrib.auth.models import AnonymousUser, User
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from kilit.access.roles import actor_of, is_owner
from kilit.lock.models.event import SessionUser
from kilit.lock.triggers import never
from ociqueue.models.site import Site


class IdentifierKind(models.TextChoices):
    EMAIL = "email", _("E-mail address")
    PHONE = "phone", _("Phone number")
    CLICK_ID = "click_id", _("Click id")
    ORDER_ID = "order_id", _("Order id or source key")


class ErasureQuerySet(models.QuerySet["Erasure"]):
    def visible_to(self, user: User | AnonymousUser) -> Self:
        if is_owner(user):
            return self.all()
        return self.filter(Q(site__in=Site.objects.administered_by(user)) | Q(actor=actor_of(user)))


class Erasure(models.Model):
    """One batch of rows of a site, or of none, erased in the transaction that wrote this record."""

    site = models.ForeignKey(Site, verbose_name=_("site"), null=True, on_delete=models.PROTECT, related_name="erasures")
    kind = models.CharField(_("found by"), max_length=10, choices=IdentifierKind)
    rows_erased = models.PositiveIntegerField(_("erased"))
    rows_left = models.PositiveIntegerField(
        _("left"), help_text=_("Conversions that had not ended, and were not changed.")
    )
    actor = models.CharField(_("who"), max_length=200, db_default=SessionUser())
    created_at = models.DateTimeField(_("when"), db_default=Now())

    objects = ErasureQuerySet.as_manager()

    class Meta:
        default_permissions = ("add",)  # of admins alone; it allows viewing, too
        verbose_name, verbose_name_plural = _("erasure"), _("erasures")
        triggers = never(
            pgtrigger.Update,
            pgtrigger.Delete,
            pgtrigger.Truncate,
            subject="records of erasure",
            hint="They prove that a person's data was removed.",
        )

    def __str__(self) -> str:
        return f"erasure of {self.rows_erased} conversions"

"""Customers, known by their phone: an order of somebody unknown waits for a person."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _


class Customer(models.Model):
    """Somebody who orders cut panels."""

    phone = models.CharField(max_length=16, unique=True, help_text=_("Any spelling; kept as +905551234567."))
    name = models.CharField(max_length=200)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        # Nobody deletes one: jobs point at it. Operators add and correct.
        default_permissions = ("view", "operate")
        constraints = [
            models.CheckConstraint(condition=Q(phone__regex=r"^\+[1-9][0-9]{6,14}$"), name="customer_phone_is_e164"),
            models.CheckConstraint(condition=~Q(name=""), name="customer_has_a_name"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.phone})"

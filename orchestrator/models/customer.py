"""Customers, identified by their phone number. An order from an unknown number waits on HOLD."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from kilit.lock.prefixes import word_index


class Customer(models.Model):
    phone = models.CharField(_("phone"), max_length=16, unique=True, help_text=_("Any format; kept as +905551234567."))
    name = models.CharField(_("name"), max_length=200)
    # For papers, which need them; nothing else shows them.
    address = models.CharField(_("address"), max_length=400, blank=True, default="", db_default="")
    tax_office = models.CharField(_("tax office"), max_length=100, blank=True, default="", db_default="")
    tax_number = models.CharField(
        _("tax number"),
        max_length=32,
        blank=True,
        default="",
        db_default="",
        help_text=_("A VKN of 10 digits or a TCKN of 11; of another country with its two letters, DE123456789."),
    )
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)

    class Meta:
        verbose_name, verbose_name_plural = _("customer"), _("customers")
        # Operators add and correct customers. They cannot delete them, because jobs refer to them.
        default_permissions = ("view", "operate")
        constraints = [
            models.CheckConstraint(condition=Q(phone__regex=r"^\+[1-9][0-9]{6,14}$"), name="customer_phone_is_e164"),
            models.CheckConstraint(condition=~Q(name=""), name="customer_has_a_name"),
        ]
        # Operators search customers, and jobs of customers, by words of the name.
        indexes = [word_index("customer_words", "name")]

    def __str__(self) -> str:
        return f"{self.name} ({self.phone})"

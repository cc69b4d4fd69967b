"""Links to a job that need no login: their numbers. Below 0 the last one is withdrawn."""

from django.db import models


class LinkedJobModel(models.Model):
    status_link = models.SmallIntegerField(default=0, db_default=0, help_text="The last one; below 0 it is withdrawn.")
    status_link_prices = models.BooleanField(default=False, db_default=False, help_text="The link shows the amounts.")
    piece_link = models.SmallIntegerField(default=0, db_default=0, help_text="The last one; below 0 it is withdrawn.")

    class Meta:
        abstract = True

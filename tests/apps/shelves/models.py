"""A table with a column that the second migration adds."""

from django.db import models


class Shelf(models.Model):
    label = models.TextField(null=True)  # noqa: DJ001 - as a column added beside running code is

    def __str__(self) -> str:
        return f"shelf {self.pk}"

"""The folder of this installation in a bucket that others may use, too."""

from django.db import models


class BucketFolder(models.Model):
    """One row. It is stored when the bucket is first used, and never changes (pdfjobs.storage.owner)."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    name = models.CharField(max_length=64)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return self.name

"""Files that belong to a job, byte for byte: the sheet it was imported from, and OptiPlanning's solution."""

from django.db import models
from django.db.models.functions import Now

from orchestrator.models.job import Job


class OrderFile(models.Model):
    job = models.ForeignKey(Job, on_delete=models.PROTECT, related_name="order_files")
    name = models.CharField(max_length=255)
    sha256 = models.CharField(max_length=64)
    content = models.BinaryField()
    layout = models.CharField(max_length=16, blank=True, default="", db_default="", help_text="As a draft's.")
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        default_permissions = ()
        # Two people who import the same file keep it once.
        constraints = [models.UniqueConstraint(fields=["job", "sha256"], name="one_order_file_per_content")]
        # An import looks for jobs of the same sheet.
        indexes = [models.Index(fields=["sha256"], name="order_file_of_content")]

    def __str__(self) -> str:
        return self.name


class SolutionFile(models.Model):
    # Kept here, because the export folder is emptied and may be on another machine.
    job = models.ForeignKey(Job, on_delete=models.PROTECT, related_name="solution_files")
    name = models.CharField(max_length=255)
    sha256 = models.CharField(max_length=64)
    content = models.BinaryField()
    # The saw may answer for a job's files one by one; a retry delivers only those it has not taken.
    acknowledged_as = models.CharField(max_length=255, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        default_permissions = ()
        # A repeated step stores the same file, not a second one.
        constraints = [models.UniqueConstraint(fields=["job", "name"], name="one_solution_file_per_name")]

    def __str__(self) -> str:
        return self.name

"""The solution files of a job, kept beside it: the folder they came from is emptied, and may be on another machine."""

from django.db import models
from django.db.models.functions import Now

from orchestrator.models.job import Job


class SolutionFile(models.Model):
    """One XML file of OptiPlanning, byte for byte as it was collected."""

    job = models.ForeignKey(Job, on_delete=models.PROTECT, related_name="solution_files")
    name = models.CharField(max_length=255)
    sha256 = models.CharField(max_length=64)
    content = models.BinaryField()
    # Several files of a job may be answered one by one; a retry hands over only those that the saw has not got.
    acknowledged_as = models.CharField(max_length=255, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        default_permissions = ()
        # A repeated step stores the same file, not a second one.
        constraints = [models.UniqueConstraint(fields=["job", "name"], name="one_solution_file_per_name")]

    def __str__(self) -> str:
        return self.name

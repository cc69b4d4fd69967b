"""The solution files of a job. They are stored because the export folder is emptied and may be on another machine."""

from django.db import models
from django.db.models.functions import Now

from orchestrator.models.job import Job


class SolutionFile(models.Model):
    """One XML file from OptiPlanning, byte for byte as collected."""

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

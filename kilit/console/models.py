"""Views of lists that a user saved: a name, and the filters."""

from django.conf import settings
from django.db import models


class SavedView(models.Model):
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_views")
    listed = models.CharField(max_length=100, help_text="The model of the list, as app.model.")
    name = models.CharField(max_length=60)
    query = models.CharField(max_length=2000, help_text="The filters, as in the list's address.")

    class Meta:
        default_permissions = ()
        ordering = ["name"]
        # Saving a view again replaces it; a list reads those of its user.
        constraints = [models.UniqueConstraint(fields=["user", "listed", "name"], name="one_saved_view_per_name")]

    def __str__(self) -> str:
        return self.name

"""The form of a site: it saves what somebody changed on the page, and nothing else that the page showed."""

from typing import Any

from django.core.exceptions import ValidationError
from django.forms import ModelForm
from django.utils.translation import gettext as _

from ociqueue.models import Site

# What decides whether and by whom conversions are sent; nobody may undo it by a page that is older.
DECIDING = ("sync_method", "is_paused", "pause_reason")


class SiteForm(ModelForm[Site]):
    """Knows what it showed: a page stays open for hours, and somebody else may have paused the site since."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for field in self.fields.values():
            field.show_hidden_initial = True

    def clean(self) -> dict[str, Any] | None:
        """Refuse a change of pause or sender by somebody who has not seen how they are now."""
        cleaned = super().clean()
        if set(DECIDING) & set(self.changed_data) and self._is_old():
            raise ValidationError(
                _(
                    "Nothing is saved: somebody else changed the pause or the sender of this site after you opened "
                    "the page. Open it again, and see whether your change still holds."
                )
            )
        if cleaned and "is_paused" in self.changed_data and not cleaned["is_paused"]:
            cleaned["pause_reason"] = ""  # of the pause that ends; the history keeps it
        return cleaned

    def _is_old(self) -> bool:
        # Locked until it is saved: whoever changes the site at this moment comes before this look, or after the save.
        now = Site.objects.select_for_update().get(pk=self.instance.pk)
        return any(self._shown(name) != getattr(now, name) for name in DECIDING if name in self.fields)

    def _shown(self, name: str) -> Any:
        return self.fields[name].to_python(self.data.get(self[name].html_initial_name))

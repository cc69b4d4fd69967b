"""The site form: it saves only what the user changed on the page."""

from typing import Any

from django.core.exceptions import ValidationError
from django.forms import ModelForm
from django.utils.translation import gettext as _

from ociqueue.models import Site

# Whether and by whom conversions are sent; an older page must not undo a change of these.
SENDING = ("sync_method", "is_paused", "pause_reason")


class SiteForm(ModelForm[Site]):
    """Remembers what it showed: a page stays open for hours, and another user may have paused the site since."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for field in self.fields.values():
            field.show_hidden_initial = True

    def clean(self) -> dict[str, Any] | None:
        """Reject a change of pause or sender if another user changed them since the page was opened."""
        cleaned = super().clean()
        if set(SENDING) & set(self.changed_data) and self._is_old():
            raise ValidationError(
                _(
                    "Nothing was saved: another user changed the pause or the sender of this site after you opened the "
                    "page. Open it again and repeat your change if it is still needed."
                )
            )
        if cleaned and "is_paused" in self.changed_data and not cleaned["is_paused"]:
            cleaned["pause_reason"] = ""  # the history keeps it
        return cleaned

    def _is_old(self) -> bool:
        # Locked until it is saved, so that a concurrent change comes before this query or after the save.
        now = Site.objects.select_for_update().get(pk=self.instance.pk)
        return any(self._shown(name) != getattr(now, name) for name in SENDING if name in self.fields)

    def _shown(self, name: str) -> Any:
        return self.fields[name].to_python(self.data.get(self[name].html_initial_name))

"""A form that asks for a span of days."""

from datetime import datetime, time, timedelta
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminTextInputWidget


class DayInput(UnfoldAdminTextInputWidget):
    input_type = "date"


class DaysForm(forms.Form):
    """Days in the reader's time zone, both included."""

    first = forms.DateField(label=gettext_lazy("From"), input_formats=["%Y-%m-%d"], widget=DayInput)
    last = forms.DateField(label=gettext_lazy("To, that day included"), input_formats=["%Y-%m-%d"], widget=DayInput)

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        first, last = cleaned.get("first"), cleaned.get("last")
        if first and last and first > last:
            raise ValidationError(_("The end has to be after the beginning."))
        return cleaned

    def span(self) -> tuple[datetime, datetime]:
        first, last = self.cleaned_data["first"], self.cleaned_data["last"]
        begins, ends = (timezone.make_aware(datetime.combine(day, time())) for day in (first, last + timedelta(days=1)))
        return begins, ends

"""Forms and fields that several pages have: a span of days, and a site."""

from datetime import datetime, time, timedelta
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from kilit.postgres.collation import NameOrder
from kilit.sites.models import SiteQuerySet, Tenant


class DayInput(UnfoldAdminTextInputWidget):
    input_type = "date"


class DaysForm(forms.Form):
    """Days in the reader's time zone, both included."""

    first = forms.DateField(label=_("From"), input_formats=["%Y-%m-%d"], widget=DayInput)
    last = forms.DateField(label=_("To, that day included"), input_formats=["%Y-%m-%d"], widget=DayInput)

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


class SiteChoiceField(forms.ModelChoiceField):  # type: ignore[type-arg]
    """Chooses a site by typing a part of its name or customer id, since there may be hundreds."""

    def __init__(self, **options: Any) -> None:
        typed = UnfoldAdminSelectWidget(attrs={"data-choose": _("Type a name or a customer id")})
        super().__init__(Tenant.objects.none(), label=_("Site"), widget=typed, **options)

    def offer(self, sites: SiteQuerySet[Any]) -> None:
        self.queryset = sites.order_by(NameOrder("name"))

    def label_from_instance(self, obj: Tenant) -> str:
        return obj.label

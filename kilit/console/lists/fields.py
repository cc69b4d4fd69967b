"""Forms and fields that several pages have, with unfold's look, which it gives only to the fields of a model."""

from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminFileFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
)

from kilit.postgres.collation import NameOrder
from kilit.sites.models import SiteQuerySet, Tenant

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

LOCAL_TIME = "%Y-%m-%dT%H:%M"


def text_field(
    label: "StrOrPromise", most: int | None = None, *, widget: Any = UnfoldAdminTextInputWidget, **options: Any
) -> forms.CharField:
    """Return a field for what a browser neither completes nor corrects; `attrs` are those of its input."""
    attrs = {"autocomplete": "off", "spellcheck": "false", **options.pop("attrs", {})}
    return forms.CharField(label=label, max_length=most, widget=widget(attrs=attrs), **options)


def choice_field(label: "StrOrPromise", choices: Any = (), **options: Any) -> forms.ChoiceField:
    widget = UnfoldAdminSelectWidget(attrs=options.pop("attrs", {}))
    return forms.ChoiceField(label=label, choices=choices, widget=widget, **options)


def choices_field(label: "StrOrPromise", choices: Any = (), **options: Any) -> forms.MultipleChoiceField:
    widget = UnfoldAdminCheckboxSelectMultipleWidget
    return forms.MultipleChoiceField(label=label, choices=choices, required=False, widget=widget, **options)


class UploadField(forms.FileField):
    def __init__(self, label: "StrOrPromise", *, accept: str, megabytes: int, too_large: "StrOrPromise") -> None:
        widget = UnfoldAdminFileFieldWidget(attrs={"accept": accept})
        super().__init__(label=label, widget=widget, error_messages={"empty": _("The file is empty.")})
        self.megabytes, self.text = megabytes, too_large

    @property
    def too_large(self) -> str:
        return str(self.text) % {"most": self.megabytes}

    def clean(self, data: Any, initial: Any = None) -> UploadedFile[bytes]:
        file: UploadedFile[bytes] = super().clean(data, initial)
        if (file.size or 0) > self.megabytes * 1024**2:
            raise ValidationError(self.too_large)
        return file


class DayInput(UnfoldAdminTextInputWidget):
    input_type = "date"


class MomentInput(UnfoldAdminTextInputWidget):
    input_type = "datetime-local"

    def format_value(self, value: Any) -> str | None:
        return value.strftime(LOCAL_TIME) if isinstance(value, datetime) else value


def moment_field(label: "StrOrPromise", **options: Any) -> forms.DateTimeField:
    """Return a field for a time in the reader's time zone."""
    formats = [LOCAL_TIME, "%Y-%m-%d %H:%M"]
    return forms.DateTimeField(label=label, input_formats=formats, widget=MomentInput, **options)


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

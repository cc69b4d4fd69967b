"""The field that chooses a site: by typing a part of its name or customer id, since there may be hundreds."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminSelectWidget

from kilit.postgres.collation import NameOrder
from kilit.sites.models import SiteQuerySet, Tenant


class SiteChoiceField(forms.ModelChoiceField):  # type: ignore[type-arg]
    def __init__(self, **options: Any) -> None:
        typed = UnfoldAdminSelectWidget(attrs={"data-choose": gettext_lazy("Type a name or a customer id")})
        super().__init__(Tenant.objects.none(), label=gettext_lazy("Site"), widget=typed, **options)

    def offer(self, sites: SiteQuerySet[Any]) -> None:
        self.queryset = sites.order_by(NameOrder("name"))

    def label_from_instance(self, obj: Tenant) -> str:
        return obj.label

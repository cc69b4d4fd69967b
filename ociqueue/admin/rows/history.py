"""The page that exports the history of conversions."""

from typing import Any
from uuid import UUID

from django import forms
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminSelectWidget

from kilit.console.formatting import page
from kilit.console.lists.day_forms import DaysForm
from ociqueue.files.history import history_response
from ociqueue.models import Site
from ociqueue.models.site import SiteQuerySet
from ociqueue.schemas.lookups import LONGEST_SPAN

FORMATS = (("csv", gettext_lazy("CSV, for spreadsheets")), ("jsonl", gettext_lazy("JSON lines, for programs")))


class HistoryForm(DaysForm):
    format = forms.ChoiceField(label=gettext_lazy("Format"), choices=FORMATS, widget=UnfoldAdminSelectWidget)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        first, last = cleaned.get("first"), cleaned.get("last")
        if first and last and (last - first).days >= LONGEST_SPAN.days:
            raise ValidationError(_("Export at most %(days)s days at once.") % {"days": LONGEST_SPAN.days})
        return cleaned


def history_page(model_admin: ModelAdmin, request: HttpRequest) -> HttpResponseBase:
    """Ask for the days, and stream the conversions that were created on them."""
    named = request.POST.get("site", request.GET.get("site", ""))
    sites = _sites(request, named)
    this_month = {"first": timezone.localdate().replace(day=1), "last": timezone.localdate()}
    form = HistoryForm(request.POST if request.method == "POST" else None, initial=this_month)
    if form.is_valid():
        start, end = form.span()
        file_format = form.cleaned_data["format"]
        return history_response(sites.order_by("name", "pk"), start=start, end=end, file_format=file_format)
    of_site = _("Of the site %(site)s.") % {"site": sites.get()} if named else _("Of all sites that you see.")
    zone = timezone.get_current_timezone_name()
    return page(
        model_admin,
        request,
        "admin/console/confirm.html",
        title=_("Export conversions"),
        sentences=[
            _("A line for each conversion that was created on these days, in its present state. Click ids are masked."),
            of_site,
            _("Days are those of your time zone, %(zone)s.") % {"zone": zone},
        ],
        form=form,
        kept={"site": named} if named else {},
        submit=_("Download"),
        back=model_admin.address("changelist"),
    )


def _sites(request: HttpRequest, named: str) -> SiteQuerySet:
    """Return the sites that the user sees, or the one that the list was filtered by."""
    sites = Site.objects.seen_by(request.user)
    if not named:
        return sites
    try:
        found = sites.filter(pk=UUID(named))
    except ValueError:
        raise Http404 from None
    if not found.exists():
        raise Http404
    return found

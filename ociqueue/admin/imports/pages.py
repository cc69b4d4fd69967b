"""The CSV import page: it checks a file, which is imported when the user confirms it, and offers templates."""

from typing import Any, cast

from django import forms
from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_stubs_ext import StrOrPromise
from unfold.admin import ModelAdmin

from kilit.console.formatting import page
from kilit.console.lists.fields import SiteChoiceField, UploadField
from kilit.csv.text import CsvError
from kilit.machine_errors import explain
from kilit.masking import IDENTIFIERS
from ociqueue.admin.imports.import_jobs import lines_of, page_of, report_of
from ociqueue.files.import_run import check
from ociqueue.files.templates import adjustments_template, conversions_template
from ociqueue.models import ImportJob, Site
from ociqueue.schemas.conversions import TEMPLATE_FIELDS, without_identifiers

AS_IN_FILE = gettext_lazy("As in the file (column siteId), or type a name")
MEGABYTES = settings.MOST_UPLOADED // 1024**2


def csv_field(megabytes: int, too_large: StrOrPromise) -> UploadField:
    return UploadField(gettext_lazy("CSV file"), accept=".csv,text/csv", megabytes=megabytes, too_large=too_large)


class UploadForm(forms.Form):
    site = SiteChoiceField(required=False, empty_label=AS_IN_FILE)
    file = csv_field(MEGABYTES, gettext_lazy("Larger than %(most)s MB; split the file."))

    def __init__(self, *args: Any, user: User | AnonymousUser, **options: Any) -> None:
        super().__init__(*args, **options)
        field: Any = self.fields["site"]
        field.offer(Site.objects.run_by(user))
        field.widget.attrs["data-choose"] = AS_IN_FILE
        if field.queryset.count() == 1:
            field.initial = field.queryset.first()


def import_page(model_admin: ModelAdmin, request: HttpRequest) -> HttpResponse:
    form = UploadForm(request.POST or None, request.FILES or None, user=request.user)
    job = _check(form, request) if form.is_valid() else None
    if job and job.is_working:
        address = page_of(job.pk)
        if "HX-Request" in request.headers:  # htmx would put the other page into this one
            return HttpResponse(status=204, headers={"HX-Redirect": address})
        return HttpResponseRedirect(address)
    report = report_of(job) | lines_of(job) if job else {}
    accepts_identifiers = Site.objects.run_by(request.user).filter(accepts_identifiers=True).exists()
    return page(
        model_admin,
        request,
        "admin/ociqueue/import.html",
        title=_("Import conversions"),
        form=form,
        faults=[f"{form[name].label}: {text}" for name, texts in form.errors.items() for text in texts],
        **report,
        may_start=bool(job and report["changes"]),
        fields=", ".join(without_identifiers(TEMPLATE_FIELDS)),
        identifiers=", ".join(IDENTIFIERS) if accepts_identifiers else "",
        template_address=reverse("admin:ociqueue_conversion_import_template"),
        failed_address=reverse("admin:ociqueue_conversion_dead_letters", query=request.GET),
        list_address=reverse("admin:ociqueue_conversion_changelist", query=request.GET) if request.GET else "",
        imports_address=reverse("admin:ociqueue_importjob_changelist"),
        megabytes=MEGABYTES,
        most=settings.MOST_UPLOADED,
        too_large=UploadForm.base_fields["file"].too_large,  # type: ignore[attr-defined]
    )


def _check(form: UploadForm, request: HttpRequest) -> ImportJob | None:
    try:
        job = check(form.cleaned_data["site"], form.cleaned_data["file"], cast("User", request.user))
        if job.error and not job.is_open:
            raise CsvError(explain(job.error))
    except CsvError as error:
        form.add_error("file", str(error))
        return None
    return job


def template_file(_model_admin: ModelAdmin, request: HttpRequest) -> StreamingHttpResponse:
    if "adjustments" in request.GET:
        return adjustments_template()
    return conversions_template(with_identifiers="identifiers" in request.GET)

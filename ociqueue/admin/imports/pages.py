"""The CSV import page: a dry run first, then the import, and a file of the rejected lines to correct."""

import base64
import hashlib
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, cast

from django import forms
from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.core import signing
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminFileFieldWidget

from kilit.console.account.site_chooser import SiteChoiceField
from kilit.console.formatting import number, page
from kilit.csv.reader import REASON, FileTally, RejectedLine
from kilit.csv.text import CsvError
from kilit.csv.writer import csv_lines, csv_response
from kilit.lock.audit import for_reason
from kilit.masking import IDENTIFIERS
from ociqueue.admin.imports.import_jobs import MOST_SHOWN, about_kind, columns_of, page_of, submit_label
from ociqueue.files.conversions import ImportTally, format_advice
from ociqueue.files.import_jobs import TABLES, TALLIES, begin, kind_of, reason_of
from ociqueue.files.table import import_table
from ociqueue.models import ImportJob, Site
from ociqueue.models.import_job import ImportKind
from ociqueue.schemas.adjustments import FIELDS as ADJUSTMENT_FIELDS
from ociqueue.schemas.conversions import TEMPLATE_FIELDS, without_identifiers

MEGABYTES = settings.MOST_UPLOADED // 1024**2
AT_ONCE = 1024**2  # about 10,000 lines, some seconds; workers do larger ones
MOST_IN_FILE = 10_000  # rejected lines in the file to correct: it travels in the page
SALT = "ociqueue.import"
PROOF_MAX_AGE = timedelta(hours=1)


def too_large() -> str:
    return _("Larger than %(most)s MB; split the file.") % {"most": MEGABYTES}


class UploadForm(forms.Form):
    site = SiteChoiceField()
    file = forms.FileField(
        label=gettext_lazy("CSV file"),
        widget=UnfoldAdminFileFieldWidget(attrs={"accept": ".csv,text/csv"}),
        error_messages={"empty": gettext_lazy("The file is empty.")},
    )
    kind = ImportKind.CONVERSIONS  # of the file, once it was read
    # Proof that this file was checked for this site; without it nothing is stored.
    checked = forms.CharField(required=False)

    def __init__(self, *args: Any, user: User | AnonymousUser, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["site"].offer(Site.objects.run_by(user))  # type: ignore[attr-defined]

    def clean_file(self) -> UploadedFile[bytes]:
        file: UploadedFile[bytes] = self.cleaned_data["file"]
        if (file.size or 0) > MEGABYTES * 1024**2:
            raise forms.ValidationError(too_large())
        return file

    def is_large(self) -> bool:
        """Return whether a check would take longer than a page can wait for."""
        return bool(self.cleaned_data["file"].size > AT_ONCE)

    def proof(self) -> str:
        file: Any = self.cleaned_data["file"].file
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(0)
        return signing.dumps([str(self.cleaned_data["site"].pk), digest], salt=SALT)

    def was_checked(self) -> bool:
        try:
            proof = signing.loads(self.cleaned_data["checked"], salt=SALT, max_age=PROOF_MAX_AGE)
        except signing.BadSignature:
            return False
        return bool(proof == signing.loads(self.proof(), salt=SALT))


def import_page(model_admin: ModelAdmin, request: HttpRequest) -> HttpResponse:
    form = UploadForm(request.POST or None, request.FILES or None, user=request.user)
    tally: FileTally | None = None
    stored = False
    if form.is_valid() and form.is_large():
        if job := _begin(form, request):
            return _go_to(request, page_of(job.pk))
    elif form.is_valid():
        stored = request.POST.get("step") == "import"
        if stored and not form.was_checked():
            form.add_error("file", _("This is not the file that was checked for this site. Check it first."))
        else:
            tally = _import(form, dry_run=not stored)
    return page(
        model_admin,
        request,
        "admin/ociqueue/import.html",
        title=_("Import conversions"),
        form=form,
        faults=[f"{form[name].label}: {text}" for name, texts in form.errors.items() for text in texts],
        tally=tally,
        summary=tally.summary(dry_run=not stored) if tally else "",
        **(_reports(tally, form.kind, form.cleaned_data["site"]) if tally else {}),
        submit=submit_label(tally) if tally else "",
        about=about_kind(form.kind) if tally else "",
        proof=form.proof() if tally and tally.changes and not stored else "",
        fields=", ".join(without_identifiers(TEMPLATE_FIELDS)),
        identifiers=", ".join(IDENTIFIERS) if _accept_identifiers(request) else "",
        template_address=reverse("admin:ociqueue_conversion_import_template"),
        imports_address=reverse("admin:ociqueue_importjob_changelist"),
        megabytes=MEGABYTES,
        most=settings.MOST_UPLOADED,
        too_large=too_large(),
    )


def _begin(form: UploadForm, request: HttpRequest) -> ImportJob | None:
    try:
        return begin(form.cleaned_data["site"], cast("User", request.user), form.cleaned_data["file"])
    except CsvError as error:
        form.add_error("file", str(error))
        return None


def _go_to(request: HttpRequest, address: str) -> HttpResponse:
    if "HX-Request" in request.headers:  # htmx would put the other page into this one
        return HttpResponse(status=204, headers={"HX-Redirect": address})
    return HttpResponseRedirect(address)


def _import(form: UploadForm, *, dry_run: bool) -> FileTally | None:
    site, file = form.cleaned_data["site"], form.cleaned_data["file"].file
    try:
        form.kind = kind_of(file)
        tally = TALLIES[form.kind]()
        with for_reason(reason_of(form.kind)):
            for part in import_table(TABLES[form.kind](site, file), dry_run=dry_run):
                tally.add(part, most=MOST_IN_FILE)
    except CsvError as error:
        form.add_error("file", str(error))
        return None
    finally:
        file.seek(0)
    return tally


def _accept_identifiers(request: HttpRequest) -> bool:
    return Site.objects.run_by(request.user).filter(accepts_identifiers=True).exists()


def _reports(tally: FileTally, kind: ImportKind, site: Site) -> dict[str, Any]:
    columns = columns_of(kind, site)
    reports: dict[str, Any] = {"rejected": _report(tally.rejected, tally.rejected_lines, columns)}
    if isinstance(tally, ImportTally):
        reports |= {"differing": _report(tally.differing, tally.differing_lines, columns), "advice": format_advice()}
    return reports


def _report(lines: list[RejectedLine], total: int, columns: Sequence[str]) -> dict[str, object] | None:
    if not lines:
        return None
    first_lines = lines[:MOST_SHOWN]
    return {
        "fields": [field for line in first_lines for field in line.fields],
        "hidden": number(total - len(first_lines)) if total > len(first_lines) else "",
        "address": _data_address(rejected_file(lines, columns)),
        "most_in_file": number(MOST_IN_FILE) if total > len(lines) else "",
    }


def rejected_file(rejected: list[RejectedLine], columns: Sequence[str]) -> str:
    """Return the lines to correct and import again; one that could not be read is whole in its first cell."""
    rows = [
        [*(rejected_line.line.shown(name) for name in columns), rejected_line.reason]
        if rejected_line.line.cells
        else [rejected_line.line.text, *[""] * (len(columns) - 1), rejected_line.reason]
        for rejected_line in rejected
    ]
    return "".join(csv_lines([*columns, REASON], rows, delimiter=rejected[0].line.delimiter))


def _data_address(text: str) -> str:
    """Return a file as an address: the upload is not stored, so no later request could fetch its lines."""
    return f"data:text/csv;charset=utf-8;base64,{base64.b64encode(text.encode()).decode()}"


def template_file(request: HttpRequest) -> StreamingHttpResponse:
    if "adjustments" in request.GET:
        return _template_of_adjustments()
    time = timezone.now() - timedelta(days=1)
    consents = {"consentAdUserData": "GRANTED", "consentAdPersonalization": "DENIED"}
    examples = [
        {"gclid": "EXAMPLE-click-id", "conversionValue": "1250.50", "sourceKey": "example-1", **consents},
        {"wbraid": "EXAMPLE-wbraid", "conversionValue": "99.90", "sourceKey": "example-2", "eventSource": "PHONE"},
    ]
    shared = {"conversionName": "Example purchase", "conversionTime": time, "conversionCurrency": "TRY"}
    columns = TEMPLATE_FIELDS if "identifiers" in request.GET else without_identifiers(TEMPLATE_FIELDS)
    examples[0] |= {"email": "name@company.com", "phone": "+905550000000"}
    rows = [[(shared | example).get(name, "") for name in columns] for example in examples]
    return csv_response("conversions-template", csv_lines(columns, rows))


def _template_of_adjustments() -> StreamingHttpResponse:
    examples = [
        {"orderId": "EXAMPLE-order-id", "kind": "RETRACTION"},
        {"conversionSourceKey": "example-2", "kind": "RESTATEMENT", "value": "80.00", "currency": "TRY"},
    ]
    rows = [[example.get(name, "") for name in ADJUSTMENT_FIELDS] for example in examples]
    return csv_response("adjustments-template", csv_lines(ADJUSTMENT_FIELDS, rows))

"""The CSV import page: a dry run first, then the import."""

import hashlib
from datetime import timedelta
from typing import Any

from django import forms
from django.core import signing
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminFileFieldWidget, UnfoldAdminSelectWidget

from kilit.console.formatting import number, page
from ociqueue.csv_import import CsvError, ImportTally, import_file
from ociqueue.models import Site
from ociqueue.schemas.conversions import FIELDS

MEGABYTES = 5  # about 50,000 lines, half a minute; larger files go through the command
MOST_SHOWN = 200
SALT = "ociqueue.import"
PROOF_MAX_AGE = timedelta(hours=1)


class UploadForm(forms.Form):
    site = forms.ModelChoiceField(
        queryset=Site.objects.none(), label=gettext_lazy("Site"), widget=UnfoldAdminSelectWidget
    )
    file = forms.FileField(
        label=gettext_lazy("CSV file"),
        widget=UnfoldAdminFileFieldWidget(attrs={"accept": ".csv,text/csv"}),
        error_messages={"empty": gettext_lazy("The file is empty.")},
    )
    # Proof that this file was checked for this site; without it nothing is stored.
    checked = forms.CharField(required=False)

    def __init__(self, *args: Any, user: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["site"].queryset = Site.objects.run_by(user)  # type: ignore[attr-defined]

    def clean_file(self) -> UploadedFile[bytes]:
        file: UploadedFile[bytes] = self.cleaned_data["file"]
        if (file.size or 0) > MEGABYTES * 1024**2:
            message = _("Larger than %(most)s MB; use manage.py oci_import on the server.")
            raise forms.ValidationError(message % {"most": MEGABYTES})
        return file

    def proof(self) -> str:
        file: Any = self.cleaned_data["file"].file
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(0)
        return signing.dumps([str(self.cleaned_data["site"].pk), digest], salt=SALT)

    def was_checked(self) -> bool:
        try:
            given = signing.loads(self.cleaned_data["checked"], salt=SALT, max_age=PROOF_MAX_AGE)
        except signing.BadSignature:
            return False
        return bool(given == signing.loads(self.proof(), salt=SALT))


def import_page(model_admin: Any, request: HttpRequest) -> HttpResponse:
    form = UploadForm(request.POST or None, request.FILES or None, user=request.user)
    tally, stored = None, False
    if form.is_valid():
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
        hidden=tally.rejected_lines - len({rejected.line for rejected in tally.rejected}) if tally else 0,
        submit=_("Import %(number)s lines") % {"number": number(tally.created)} if tally else "",
        proof=form.proof() if tally and tally.created and not stored else "",
        fields=", ".join(FIELDS),
        megabytes=MEGABYTES,
    )


def _import(form: UploadForm, *, dry_run: bool) -> ImportTally | None:
    tally = ImportTally()
    try:
        for batch in import_file(form.cleaned_data["site"], form.cleaned_data["file"].file, dry_run=dry_run):
            tally.add(batch, most=MOST_SHOWN)
    except CsvError as error:
        form.add_error("file", str(error))
        return None
    form.cleaned_data["file"].file.seek(0)
    return tally

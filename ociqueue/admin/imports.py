"""The console's import page: look first, then store, with the checks of the API."""

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
from ociqueue.csv_import import Tally, Unreadable, import_file
from ociqueue.entry import FIELDS
from ociqueue.models import Site

MEGABYTES = 5  # about 50,000 lines, half a minute; larger files go through the command
MOST_SHOWN = 200
SALT = "ociqueue.import"
LOOKED_AT_FOR = timedelta(hours=1)


class UploadForm(forms.Form):
    """Asks for a site that the user runs, and a file."""

    site = forms.ModelChoiceField(
        queryset=Site.objects.none(), label=gettext_lazy("Site"), widget=UnfoldAdminSelectWidget
    )
    file = forms.FileField(
        label=gettext_lazy("CSV file"),
        widget=UnfoldAdminFileFieldWidget(attrs={"accept": ".csv,text/csv"}),
        error_messages={"empty": gettext_lazy("The file is empty.")},
    )
    # Proof that this very file was looked at for this very site; without it nothing is stored.
    looked_at = forms.CharField(required=False)

    def __init__(self, *args: Any, user: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["site"].queryset = Site.objects.run_by(user)  # type: ignore[attr-defined]

    def clean_file(self) -> UploadedFile[bytes]:
        file: UploadedFile[bytes] = self.cleaned_data["file"]
        if (file.size or 0) > MEGABYTES * 1024**2:
            words = _("Larger than %(most)s MB; use manage.py oci_import on the server.")
            raise forms.ValidationError(words % {"most": MEGABYTES})
        return file

    def proof(self) -> str:
        """Return the proof for this site and file."""
        file: Any = self.cleaned_data["file"].file
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(0)
        return signing.dumps([str(self.cleaned_data["site"].pk), digest], salt=SALT)

    def was_looked_at(self) -> bool:
        """Tell whether the proof that came along fits."""
        try:
            given = signing.loads(self.cleaned_data["looked_at"], salt=SALT, max_age=LOOKED_AT_FOR)
        except signing.BadSignature:
            return False
        return bool(given == signing.loads(self.proof(), salt=SALT))


def import_page(model_admin: Any, request: HttpRequest) -> HttpResponse:
    """Look at a file and say what would be stored; on the second step, store it."""
    form = UploadForm(request.POST or None, request.FILES or None, user=request.user)
    told, stored = None, False
    if form.is_valid():
        stored = request.POST.get("step") == "import"
        if stored and not form.was_looked_at():
            form.add_error("file", _("This is not the file that was checked for this site. Check it first."))
        else:
            told = _import(form, dry_run=not stored)
    return page(
        model_admin,
        request,
        "admin/ociqueue/import.html",
        title=_("Import conversions"),
        form=form,
        faults=[f"{form[name].label}: {text}" for name, texts in form.errors.items() for text in texts],
        told=told,
        sentence=told.sentence(dry_run=not stored) if told else "",
        hidden=told.refused_lines - len({refused.line for refused in told.refused}) if told else 0,
        submit=_("Import %(number)s lines") % {"number": number(told.created)} if told else "",
        proof=form.proof() if told and told.created and not stored else "",
        fields=", ".join(FIELDS),
        megabytes=MEGABYTES,
    )


def _import(form: UploadForm, *, dry_run: bool) -> Tally | None:
    told = Tally()
    try:
        for batch in import_file(form.cleaned_data["site"], form.cleaned_data["file"].file, dry_run=dry_run):
            told.add(batch, most=MOST_SHOWN)
    except Unreadable as error:
        form.add_error("file", str(error))
        return None
    form.cleaned_data["file"].file.seek(0)
    return told

"""Sites and members as CSV files: a check first, which shows what would change, then the change, all or nothing."""

import base64
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import IO, Any

from django import forms
from django.core import signing
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django_stubs_ext import StrOrPromise
from unfold.admin import ModelAdmin

from kilit.console.formatting import number, page
from kilit.csv.grid import lines_from_text
from kilit.csv.reader import CsvLine
from kilit.csv.text import CsvError
from kilit.csv.writer import csv_lines, csv_response
from kilit.sites import member_files
from kilit.sites.file_lines import MOST_LINES
from kilit.sites.models import SiteQuerySet
from kilit.sites.site_files import SitePlan
from kilit.sites.site_model import has_site_permission
from ociqueue.admin.imports.import_jobs import grid_of
from ociqueue.admin.imports.pages import csv_field
from ociqueue.files import sites as site_files
from ociqueue.models import Site

MOST_SHOWN = 200  # changes or faults on the page
SALT = "ociqueue.bulk_files"
PROOF_MAX_AGE = 3600  # seconds
Cells = dict[str, str]  # by their labels


@dataclass(frozen=True)
class BulkFile:
    """One kind of file: how it is read, stored, described and exported."""

    name: str
    title: StrOrPromise
    about: StrOrPromise
    columns: Sequence[str]
    read: Callable[[IO[bytes]], Any]
    store: Callable[..., Any]
    describe: Callable[[Any], Iterable[Cells]]
    rows: Callable[[SiteQuerySet[Site]], Iterator[list[Any]]]


def _describe_sites(plan: SitePlan) -> Iterator[Cells]:
    for each in plan.found:
        if each.is_new or each.changes:
            what = _("new") if each.is_new else _("changed")
            details = "; ".join(
                f"{name}: {after}" if each.is_new else f"{name}: {before or '–'} → {after or '–'}"
                for name, (before, after) in each.changes.items()
            )
            yield {_("Line"): str(each.line), _("Site"): each.site.name, _("What"): what, _("Values"): details}


def _describe_members(plan: member_files.MemberPlan) -> Iterator[Cells]:
    for each in plan.changed:
        person = each.person.username
        who = _("%(name)s (new person)") % {"name": person} if person in plan.people else person
        role = f"{each.before or '–'} → {each.after or '–'}"
        if group := plan.missing_group(each):
            role += " " + _("(may not act before an owner adds the group %(group)s)") % {"group": group}
        yield {_("Line"): str(each.line), _("Person"): who, _("Site"): each.site.label, _("Role"): role}


SITES = BulkFile(
    "sites",
    gettext_lazy("Import sites"),
    gettext_lazy(
        "A line with a publicId changes that site; without one, a site is recognised by its name, and otherwise "
        "created. Empty cells and missing columns leave a value as it is. The sender of a site is changed on its page."
    ),
    site_files.SITES.columns,
    site_files.SITES.lines,
    site_files.SITES.store,
    _describe_sites,
    site_files.SITES.rows,
)
MEMBERS = BulkFile(
    "members",
    gettext_lazy("Import members"),
    gettext_lazy(
        "Each line gives a person a role (viewer, operator or admin) at a site, named by its publicId or its name; the "
        "role none ends a membership. A person who does not exist yet is created with a first password, which is shown "
        "once. Only owners add, change and remove admins."
    ),
    member_files.COLUMNS,
    member_files.read_members,
    member_files.store_members,
    _describe_members,
    member_files.member_rows,
)


class BulkFileForm(forms.Form):
    file = csv_field(5, gettext_lazy("Larger than %(most)s MB; use several files."))


def import_page(kind: BulkFile, model_admin: ModelAdmin, request: HttpRequest) -> HttpResponse:
    """Check a file; then correct its lines, or apply them: they come back with the page that showed them."""
    if not _may(request):
        raise PermissionDenied
    is_shown = "checked" in request.POST
    is_stored = is_shown and "rows" not in request.POST
    form = BulkFileForm() if is_shown else BulkFileForm(request.POST or None, request.FILES or None)
    lines, fault = None, ""
    try:
        if is_shown:
            lines = _shown_lines(request, kind)
        elif form.is_valid():
            lines = list(islice(kind.read(form.cleaned_data["file"].file), MOST_LINES + 1))
    except CsvError as error:
        fault = str(error)
    plan = None if lines is None else kind.store(request.user, lines, dry_run=not is_stored)
    return page(
        model_admin,
        request,
        "admin/ociqueue/bulk_files.html",
        title=str(kind.title),
        form=form,
        faults=[*form.errors.get("file", []), *([fault] if fault else [])],
        about=kind.about,
        columns=", ".join(kind.columns),
        export_address=reverse("admin:ociqueue_site_export", args=[kind.name]),
        plan=plan,
        **(_report(plan, kind, is_stored=is_stored) if plan else {}),
        **(_next_step(request, plan, kind, lines) if plan and lines and (plan.rejected or not is_stored) else {}),
    )


def _next_step(request: HttpRequest, plan: Any, kind: BulkFile, lines: Sequence[CsvLine]) -> dict[str, Any]:
    """Return the lines for the form to send back, signed: those to correct as a grid, or else all to be applied."""
    faulty = {fault.line for fault in plan.rejected}
    shown = [line for line in lines if line.number in faulty][:MOST_SHOWN]
    rows = {line.number: line.cells or {kind.columns[0]: line.text} for line in shown}
    faults = [(fault.line, fault.field, fault.reason) for fault in plan.rejected]
    kept = [(line.number, line.cells, line.fault, line.text) for line in lines]
    return {
        "grid": grid_of(rows, kind.columns, faults) if rows else None,
        "checked": signing.dumps([kind.name, request.user.pk, kept], salt=SALT, compress=True),
    }


def _shown_lines(request: HttpRequest, kind: BulkFile) -> list[CsvLine]:
    """Return the lines that this user was shown, with those that were typed in their places."""
    try:
        name, user, kept = signing.loads(request.POST["checked"], salt=SALT, max_age=PROOF_MAX_AGE)
    except signing.BadSignature:
        name, user, kept = "", None, []
    if (name, user) != (kind.name, request.user.pk):
        raise CsvError(_("Too much time has passed. Nothing was changed; choose the file again."))
    typed = lines_from_text(request.POST.get("rows", ""), kind.columns)
    lines = [CsvLine(*each) for each in kept]
    return [CsvLine(line.number, typed[line.number]) if line.number in typed else line for line in lines]


def _report(plan: Any, kind: BulkFile, *, is_stored: bool) -> dict[str, Any]:
    rows = list(kind.describe(plan))
    passwords: dict[str, str] = getattr(plan, "passwords", {})
    # First passwords are not stored, so no later request could fetch the file.
    file = base64.b64encode("".join(csv_lines(["username", "password"], passwords.items())).encode()).decode()
    return {
        "summary": _summary(plan, is_stored=is_stored),
        "rows": rows[:MOST_SHOWN],
        "beyond": number(len(rows) - MOST_SHOWN) if len(rows) > MOST_SHOWN else "",
        "rejected": plan.rejected[:MOST_SHOWN],
        "submit": _("Apply %(number)s changes") % {"number": number(plan.changes)},
        "passwords": passwords,
        "passwords_address": f"data:text/csv;charset=utf-8;base64,{file}",
    }


def _summary(plan: Any, *, is_stored: bool) -> str:
    if plan.rejected:
        count = len({each.line for each in plan.rejected})
        text = ngettext(
            "%(number)s line to correct. Nothing was changed.",
            "%(number)s lines to correct. Nothing was changed.",
            count,
        )
        return text % {"number": number(count)}
    counts = {"changes": number(plan.changes), "same": number(len(plan.found) - plan.changes)}
    if is_stored:
        return _("Changed by %(changes)s lines; %(same)s lines were so already.") % counts
    return _("%(changes)s lines would change something; %(same)s lines are so already.") % counts


def export_file(_model_admin: ModelAdmin, request: HttpRequest, kind: str) -> StreamingHttpResponse:
    """Return the sites that the user administers, or their members; the file can be imported again."""
    if not _may(request):
        raise PermissionDenied
    file = {each.name: each for each in (SITES, MEMBERS)}.get(kind)
    if file is None:
        raise Http404
    columns = [*file.columns, *([member_files.SITE_NAME] if file is MEMBERS else [])]
    # Read now: a response that streams has no transaction, and there are only thousands.
    rows = list(file.rows(Site.objects.administered_by(request.user).active()))
    return csv_response(file.name, csv_lines(columns, rows))


def _may(request: HttpRequest) -> bool:
    return has_site_permission(request.user, "change", "add")

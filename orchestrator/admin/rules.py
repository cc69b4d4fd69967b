"""The setup of cutting: the rules in force and since when, the preflight, the check of a new version, the history."""

from contextlib import suppress
from typing import Any
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from unfold.widgets import UnfoldAdminTextareaWidget

from kilit.console.formatting import badge, exactly, find_object, number, page
from kilit.console.jobs.timeline import Story
from kilit.console.lists.confirming import reason_field
from kilit.console.lists.fields import text_field
from kilit.console.lists.listing import ListPage, ReadOnlyAdmin
from kilit.lock.audit import current_context
from kilit.lock.text import read_digits
from orchestrator.admin.columns import JOBS_MENU
from orchestrator.admin.rules_form import RulesRows
from orchestrator.job_links import unreachable_labels
from orchestrator.models import Job, RulesProposal, RulesVersion
from orchestrator.models.job import JobQuerySet
from orchestrator.planning.plan import MissingRule
from orchestrator.planning.proposals import AlreadyClosed, accept, decline, open_proposals, propose_rules
from orchestrator.planning.rules import BIGGEST_FILE, current_rules
from orchestrator.planning.rules_history import (
    RulesChanged,
    RulesCheck,
    RulesFile,
    RulesNotSaved,
    RulesUnchanged,
    changes,
    jobs_waiting_for_rules,
    missing_for,
    rules_file,
    save_rules,
    try_on_held_jobs,
    with_entry,
)
from orchestrator.planning.rules_in_words import sections
from orchestrator.workflow.decisions import release_jobs
from orchestrator.workflow.preflight import CheckLevel, preflight

VERSIONS_SHOWN = 20
ORDERS_NAMED = 5
SAVED = gettext_lazy("Saved. The rules apply from the next step of every job.")
LEVELS = {
    CheckLevel.PASS: "success",
    CheckLevel.WARN: "warning",
    CheckLevel.FAIL: "danger",
    CheckLevel.SIMULATED: "info",
}


class SavingForm(forms.Form):
    based_on = forms.CharField(widget=forms.HiddenInput)
    reason = reason_field(gettext_lazy("Shown in the history, with your name."), required=False)


class RulesForm(SavingForm):
    field_order = ["content", "based_on", "reason"]
    content = text_field(
        gettext_lazy("Rules (JSON)"),
        BIGGEST_FILE // 4,  # characters; each takes up to four bytes
        strip=False,
        widget=UnfoldAdminTextareaWidget,
        attrs={"rows": 20, "wrap": "off"},
    )

    def clean_content(self) -> str:
        return str(self.cleaned_data["content"]).replace("\r\n", "\n")


def shown_proposal(row: RulesProposal, file: RulesFile) -> dict[str, Any]:
    is_own = row.actor == current_context().actor
    return {"row": row, "who": saved_by(row), "changes": changes(file.text, row.content), "is_own": is_own}


def rows_page(model_admin: "RulesVersionAdmin", request: HttpRequest) -> HttpResponse:
    """Change the rules in fields and rows; they are saved or proposed as their text is."""
    file = rules_file()
    if file.rules is None or not model_admin.may_check(request):
        return HttpResponseRedirect(model_admin.address("changelist"))  # which shows what is wrong
    rows = RulesRows.typed(request.POST) if request.method == "POST" else RulesRows.of(file.text)
    form, changed = SavingForm(request.POST or None, initial={"based_on": file.sha256}), None
    if {"check", "save", "propose"} & request.POST.keys() and form.is_valid():
        if "save" in request.POST and not model_admin.may_save(request):
            raise PermissionDenied
        text = rows.compose(file.text)
        if not rows.fault_count:
            if "check" not in request.POST and model_admin.save(request, form, text):
                return HttpResponseRedirect(model_admin.address("changelist"))
            file = rules_file()
            changed, errors = changes(file.text, text), form.errors
            form = SavingForm({**request.POST.dict(), "based_on": file.sha256})
            form.errors.update(errors)
    return page(
        model_admin,
        request,
        "admin/orchestrator/rules_rows.html",
        title=_("Materials, prices and rules"),
        rows=rows,
        tables=rows.tables(empty_rows=2 if "add" in request.POST else 1),
        changes=changed,
        form=form,
        may_save=model_admin.may_save(request),
    )


@admin.register(RulesVersion)
class RulesVersionAdmin(ReadOnlyAdmin):
    """In place of a list of versions, the page of the rules."""

    menu = JOBS_MENU.tab(2, gettext_lazy("Setup"))
    list_pages = {"rows": ListPage(rows_page, gettext_lazy("Materials, prices and rules"), permission="operate")}

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        file = rules_file()
        if request.method != "POST":
            return self._show(request, file, *self._draft(request, file))
        if not self.may_check(request) or ("save" in request.POST and not self.may_save(request)):
            raise PermissionDenied
        for answer in ("accept", "decline"):
            if answer in request.GET:
                return self._answer(request, answer)
        form = RulesForm(request.POST)
        if not form.is_valid():
            return self._show(request, file, form, None)
        text = self._with_entries(request, file, form.cleaned_data["content"])
        check = RulesCheck.of(text, file)
        is_final = "save" in request.POST or "propose" in request.POST
        if is_final and not check.faults and self.save(request, form, text):
            query = request.GET.urlencode()
            return HttpResponseRedirect(f"{request.path}?{query}" if query else request.path)
        file = rules_file()
        # Checked against what is in force now, so that is what it may replace next.
        again = RulesForm({**request.POST.dict(), "content": text, "based_on": file.sha256})
        again.errors.update(form.errors)
        return self._show(request, file, again, RulesCheck.of(text, file))

    def has_operate_permission(self, request: HttpRequest, row: object = None) -> bool:
        return request.user.has_perm("orchestrator.operate_rulesversion")

    may_check = has_operate_permission

    def may_save(self, request: HttpRequest) -> bool:
        return request.user.has_perm("orchestrator.change_rulesversion")

    def _draft(self, request: HttpRequest, file: RulesFile) -> tuple[RulesForm, RulesCheck | None]:
        """Begin with the rules in force, or with an earlier version to be restored."""
        version: RulesVersion | RulesProposal | None = _proposal(request.GET.get("proposal", ""))
        reason = version.reason if version else ""
        if version is None and (pk := read_digits(request.GET.get("restore", ""))):
            version = RulesVersion.objects.filter(pk=pk).first()
            reason = _("Restored the version of %(time)s.") % {"time": exactly(version.created_at)} if version else ""
        if version is None or not self.may_check(request):
            return RulesForm(initial={"content": file.text, "based_on": file.sha256}), None
        values = {"content": version.content, "based_on": file.sha256, "reason": reason}
        return RulesForm(initial=values), RulesCheck.of(version.content, file)

    def _with_entries(self, request: HttpRequest, file: RulesFile, text: str) -> str:
        _jobs, missing = self._missing(request, file)
        for index, entry in enumerate(missing):
            if f"add-{index}" in request.POST and "add" in request.POST:
                text = with_entry(text, entry, request.POST[f"add-{index}"])
        return text

    def save(self, request: HttpRequest, form: SavingForm, text: str) -> bool:
        if not form.cleaned_data["reason"]:
            form.add_error("reason", _("Give a reason."))
            return False
        try:
            self._store(request, text, based_on=form.cleaned_data["based_on"], reason=form.cleaned_data["reason"])
        except RulesChanged:
            text = _("Not saved: the rules were changed meanwhile. Below is how your version differs from them.")
            form.add_error(None, text)
        except RulesUnchanged:
            messages.info(request, _("Nothing was saved: these are the rules in force."))
        except RulesNotSaved as error:
            form.add_error(None, _("The file could not be written. %(error)s") % {"error": error})
        return not form.errors

    def _store(self, request: HttpRequest, text: str, **values: str) -> None:
        if "propose" in request.POST:
            propose_rules(text, **values)
            messages.success(request, _("Proposed. The owners see it on their dashboard, and one click saves it."))
            return
        if proposal := _proposal(request.GET.get("proposal", "")):
            accept(proposal, content=text, **values)
        else:
            save_rules(text.encode(), **values)
        self._release(request)

    def _answer(self, request: HttpRequest, answer: str) -> HttpResponse:
        """Save what was proposed, or decline it; whoever proposed it may withdraw it."""
        proposal = _proposal(request.GET[answer])
        is_own = answer == "decline" and proposal and proposal.actor == current_context().actor
        if not (is_own or self.may_save(request)):
            raise PermissionDenied
        try:
            if proposal is None:
                raise AlreadyClosed
            if answer == "decline":
                decline(proposal)
                messages.success(request, _("Declined. The rules stay as they are."))
            else:
                accept(proposal)
                self._release(request)
        except AlreadyClosed:
            messages.info(request, _("Nothing was changed: someone else has answered this proposal."))
        except RulesChanged:
            text = _("Not saved: the rules were changed meanwhile. Below is how the proposal differs.")
            messages.warning(request, text)
            return HttpResponseRedirect(f"{request.path}?proposal={request.GET[answer]}")
        except RulesNotSaved as error:
            messages.error(request, _("The file could not be written. %(error)s") % {"error": error})
        return HttpResponseRedirect(request.path)

    def _release(self, request: HttpRequest) -> None:
        """Let the jobs continue that waited for the rules that were saved."""
        messages.success(request, SAVED)
        if labels := unreachable_labels(current_rules()):
            messages.warning(request, labels)
        jobs = release_jobs(request.user)
        if not jobs:
            return
        text = ngettext("%(number)s job continues: %(orders)s", "%(number)s jobs continue: %(orders)s", len(jobs))
        orders = ", ".join(job.order_id for job in jobs[:ORDERS_NAMED]) + (" …" if len(jobs) > ORDERS_NAMED else "")
        messages.success(request, text % {"number": number(len(jobs)), "orders": orders})

    def _missing(self, request: HttpRequest, file: RulesFile) -> tuple[JobQuerySet, list[MissingRule]]:
        """Return the jobs that the page is about, one or all that wait with an error code, and what they lack."""
        jobs = Job.objects.none()
        if file.rules is None or not request.user.has_perm("orchestrator.view_job"):
            return jobs, []
        if code := request.GET.get("code"):
            jobs = jobs_waiting_for_rules([code])
        with suppress(ValueError):
            jobs = Job.objects.filter(pk=UUID(request.GET.get("job", "")))
        return jobs, missing_for(jobs, file.rules)

    def _show(self, request: HttpRequest, file: RulesFile, form: RulesForm, check: RulesCheck | None) -> HttpResponse:
        jobs, missing = self._missing(request, file)
        versions = RulesVersion.objects.order_by("-pk").defer("content")
        if (before := read_digits(request.GET.get("before", ""))) is not None:
            versions = versions.filter(pk__lt=before)
        page_versions = list(versions[: VERSIONS_SHOWN + 1])
        return page(
            self,
            request,
            "admin/orchestrator/rules.html",
            title=_("Setup of cutting"),
            is_own_page=True,
            file=file,
            sections=sections(file.rules, missing) if file.rules else [],
            checks=[(result, badge(result.level, LEVELS[result.level])) for result in preflight()],
            jobs=list(jobs.only("order_id")[: ORDERS_NAMED + 1]),
            missing=[(entry, entry.words, request.POST.get(f"add-{index}", "")) for index, entry in enumerate(missing)],
            form=form if self.may_check(request) else None,
            may_save=self.may_save(request),
            check=check,
            tried=check.tried if check else try_on_held_jobs(file.rules) if file.rules else [],
            proposals=[shown_proposal(row, file) for row in open_proposals()],
            saved_by=saved_by(file.version) if file.version else "",
            versions=[(version, saved_by(version)) for version in page_versions[:VERSIONS_SHOWN]],
            older_than=page_versions[VERSIONS_SHOWN - 1].pk if len(page_versions) > VERSIONS_SHOWN else None,
            floor_is_here=settings.FLOOR_IS_HERE,
        )

    def change_view(self, request: HttpRequest, object_id: str, *args: object, **options: object) -> HttpResponse:
        version = find_object(self, request, object_id)
        if request.method not in ("GET", "HEAD"):
            raise PermissionDenied
        before = RulesVersion.objects.filter(pk__lt=version.pk).order_by("-pk").first()
        return page(
            self,
            request,
            "admin/orchestrator/rules_version.html",
            title=_("Rules of %(time)s") % {"time": exactly(version.created_at)},
            version=version,
            saved_by=saved_by(version),
            changes=changes(before.content, version.content) if before else None,
            is_in_force=version.sha256 == rules_file().sha256,
            restore=f"{reverse('admin:orchestrator_rulesversion_changelist')}?restore={version.pk}",
            may_save=self.may_save(request),
        )


def saved_by(version: RulesVersion | RulesProposal) -> str:
    return Story().who(version.actor) if version.actor else _("outside the console")


def _proposal(pk: str) -> RulesProposal | None:
    return open_proposals().filter(pk=read_digits(pk) or 0).first()

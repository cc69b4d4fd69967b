"""What conversions and adjustments have in common: actions, what their pages call events, ways on from errors."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django import forms
from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldBooleanWidget

from kilit.console.formatting import joined, link
from kilit.console.jobs.job_page import JobDescription, JobOffer, Offers, RowStep
from kilit.console.jobs.timeline import Story
from kilit.console.lists.actions import Action
from kilit.console.lists.confirming import ReasonForm
from kilit.console.lists.fields import choice_field, text_field
from kilit.console.queue_admin import QueueAdmin
from kilit.lock.models import Event
from kilit.spans import moment
from ociqueue.admin.base.columns import STATES, money, row_page, state_notes, upload
from ociqueue.admin.base.site_header import may_administer, site_address
from ociqueue.admin.rows.adjustment_columns import adjustments_context
from ociqueue.admin.rows.row_forms import with_forms
from ociqueue.models import Circuit
from ociqueue.models.adjustment import ADJUSTMENT_PREFIX
from ociqueue.models.conversion import PREFIX
from ociqueue.models.sending import UploadableQuerySet
from ociqueue.models.uploadable import Uploadable
from ociqueue.operating import operations
from ociqueue.operating.presenters import with_upload
from ociqueue.operating.site_health import open_circuits
from ociqueue.problems import blockers
from ociqueue.problems.blockers import limits_of, row_name
from ociqueue.problems.sites import switch_path
from ociqueue.states import ENDED, LIVE, AdjustmentKind, Category, ConversionStatus, Disposition, SyncMethod


class UploadableAdmin(QueueAdmin):
    most_acted_on = 5_000
    scope_filter = "site"

    def get_queryset(self, request: HttpRequest) -> UploadableQuerySet[Any]:
        rows: UploadableQuerySet[Any] = super().get_queryset(request)
        return with_upload(rows.visible_to(request.user)).select_related("site")

    def complete(self, rows: list[Any]) -> None:
        circuits = {
            (circuit.site_id, circuit.action): circuit for circuit in open_circuits({row.site_id for row in rows})
        }
        for row in rows:
            row.held_by = circuits.get((row.site_id, Circuit.EVERY_ACTION)) or circuits.get((row.site_id, row.action))


class ResetForm(ReasonForm):
    clear_errors = forms.BooleanField(
        required=False,
        label=_("Clear the error"),
        widget=UnfoldBooleanWidget,
        help_text=_("Clears code, category and message; the timeline keeps them."),
    )

    def options(self) -> dict[str, Any]:
        return {"clear_errors": self.cleaned_data["clear_errors"]}


class MarkFailedForm(ReasonForm):
    code = text_field(_("Error code"), 64, required=False, attrs={"placeholder": "MANUAL_FAIL"})
    # Not TRANSIENT: a sweep may retry such rows, but the action promises that they are not retried.
    categories = [(name, name) for name in Category.values if name != Category.TRANSIENT]
    category = choice_field(_("Error category"), [("", _("PERMANENT (default)")), *categories], required=False)

    def options(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in ("code", "category", "reason") if self.cleaned_data[name]}


RETRY = Action(
    operations.RETRY,
    title=_("Retry"),
    done=_("Retried"),
    effect=_("They are queued again with all attempts; the error is kept."),
    is_done_at_once=True,
    undo="undo_retry",
)
RESET = Action(
    operations.RESET,
    title=_("Reset to queued"),
    done=_("Reset"),
    effect=_("They are queued again with all attempts. If one is sent twice, Google counts it once."),
    cautions={
        ConversionStatus.UPLOADED: _(
            "Waiting for Google: %(number)s. "
            "Google has them and has not given its verdict. They are sent again under the same "
            "order id, which Google counts once. Until then their outcome is unknown; a verdict that still comes is "
            "recorded, but changes nothing."
        )
    },
    form=ResetForm,
)
MARK_FAILED = Action(
    operations.MARK_FAILED,
    title=_("Mark failed"),
    done=_("Marked failed"),
    effect=_("They end as failed and are not retried automatically."),
    cautions={
        ConversionStatus.UPLOADED: _(
            "Waiting for Google: %(number)s. "
            "Google has them and may count them all the same: this takes nothing back at Google. "
            "Their outcome stays unknown; a verdict that still comes is recorded, but changes nothing."
        )
    },
    form=MarkFailedForm,
    is_dangerous=True,
)

RETRY_ADJUSTMENT = replace(RETRY, operation=operations.RETRY_ADJUSTMENT)
RESET_ADJUSTMENT = replace(
    RESET,
    operation=operations.RESET_ADJUSTMENT,
    effect=_("They are queued again with all attempts. If one is sent twice, Google applies it once."),
    cautions={
        ConversionStatus.UPLOADED: _(
            "Waiting for Google: %(number)s. "
            "Google has them and has not given its verdict. They are sent again with the same "
            "time, so Google applies them once. A verdict that still comes is recorded, but changes nothing."
        )
    },
)
MARK_ADJUSTMENT_FAILED = replace(
    MARK_FAILED,
    operation=operations.MARK_ADJUSTMENT_FAILED,
    cautions={
        ConversionStatus.UPLOADED: _(
            "Waiting for Google: %(number)s. "
            "Google has them and may apply them all the same: this takes nothing back at Google. "
            "Their outcome stays unknown; a verdict that still comes is recorded, but changes nothing."
        )
    },
)


if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User
    from django_stubs_ext import StrOrPromise

AFTER_UPLOAD = (ConversionStatus.UPLOADED, *ENDED)
# What Google said, as the uploader names it.
ANSWERS = {
    Disposition.ACCEPTED: _("It has the conversion."),
    Disposition.RECEIVED: _("It has the conversion, and gives its verdict later."),
    Disposition.FATAL: _("It rejects the conversion."),
    Disposition.DUPLICATE: _("It had the conversion already."),
}


def linked_row(name: str) -> Callable[[Event], SafeString]:

    def show(event: Event) -> SafeString:
        other = event.details[name]
        return link(row_page("change", other.removeprefix(PREFIX)), other)

    return show


def corrected_fields(event: Event) -> str:
    """Return what a correction changed; what identifies a person is only named."""
    before, after = event.details.get("before", {}), event.details.get("after", {})
    names = event.details.get("changed", [])
    return ", ".join(
        f"{name}: {before[name] or '–'} → {after[name] or '–'}" if name in after else name for name in names
    )


def adjustment_link(event: Event) -> SafeString:
    details = event.details
    address = reverse("admin:ociqueue_adjustment_change", args=[details["adjustment"].removeprefix(ADJUSTMENT_PREFIX)])
    value = money(Decimal(str(details["value"])), details.get("currency", "")) if "value" in details else ""
    return joined(link(address, str(AdjustmentKind(details["kind"]).label)), value, details.get("code", ""))


ACTORS = {"key": _("the script"), "uploader": _("the uploader")}
UPLOADED = {
    "JOB_CREATED": _("Added by %(who)s"),
    "ack": _("Sent, as reported by %(who)s"),
    "ack_failed": _("Failed, as reported by %(who)s"),
    "receive": _("Uploaded by %(who)s: Google has it, and gives its verdict later"),
    "confirm": _("Confirmed: Google's verdict, asked for by %(who)s"),
    "reject": _("Rejected: Google's verdict, asked for by %(who)s"),
    "defer": _("Scheduled for another attempt by %(who)s"),
    "lose": _("Scheduled to be sent again by %(who)s, because Google's verdict cannot be known any more"),
    "recover": _("Taken back by %(who)s, because no result was reported"),
    "cap": _("Failed by %(who)s, because no attempts were left"),
    "reset_to_queued": _("Reset by %(who)s"),
    "requeue_transient": _("Retried by %(who)s"),
    "PROVIDER_WARNING": _("Google has it, but ignored a part of it"),
    "LATE_ANSWER": _("Google answered late; nothing was changed"),
}
ADDITIONS: dict[str, Callable[[Event], object]] = {
    "PROVIDER_WARNING": lambda event: "; ".join(event.details.get("warnings", [])),
    # About a row that had been taken back: its answer, or later its verdict.
    "LATE_ANSWER": lambda event: ANSWERS.get(said := event.details.get("answer", ""), said),
}
STORY = Story(
    {
        **UPLOADED,
        "import": _("Imported by %(who)s"),
        "retract": _("Retracted by %(who)s before it was sent"),
        "withhold": _("Not sent, because the visitor denied consent"),
        "expire": _("Failed by %(who)s, because the conversion is too old for Google"),
        "CORRECTED": _("Corrected by %(who)s"),
        "REPLACED": _("Replaced by %(who)s with a corrected copy"),
        "REPLACES": _("Made by %(who)s as a corrected copy"),
        "ERASED": _("Erased by %(who)s: what identified the person was removed"),
        "ADJUSTMENT_ADDED": _("Adjustment added by %(who)s"),
        "ADJUSTMENT_UPLOADED": _("Adjustment uploaded by %(who)s: Google gives its verdict later"),
        "ADJUSTMENT_COMPLETED": _("Adjustment completed by %(who)s"),
        "ADJUSTMENT_FAILED": _("Adjustment failed"),
        "LATE_ACK": _("Success reported late by %(who)s; nothing was changed"),
        "LATE_ACK_FAILED": _("Failure reported late by %(who)s; nothing was changed"),
    },
    actors=ACTORS,
    attempts="attempt_count",
    links={
        **ADDITIONS,
        "CORRECTED": corrected_fields,
        "REPLACED": linked_row("replaced_by"),
        "REPLACES": linked_row("replaces"),
        **dict.fromkeys([f"ADJUSTMENT_{what}" for what in ("ADDED", *AFTER_UPLOAD)], adjustment_link),
    },
)
ADJUSTMENT_STORY = Story(
    {
        **UPLOADED,
        "SENT_AS_ZERO": _("Sent by %(who)s as the value 0, not as a retraction"),
        "overtake": _("Overtaken by a newer adjustment"),
        "lose_original": _("Failed, because its conversion failed"),
        "finish_unsent": _("Completed: the conversion was retracted before it was sent"),
    },
    actors={"uploader": ACTORS["uploader"]},
    attempts="attempt_count",
    links=ADDITIONS,
)


def belongs_to(row: Uploadable) -> SafeString:
    return joined(link(site_address(row.site, "change"), row.site.name), row.action)


def of_site(label: "StrOrPromise", page: str) -> RowStep:
    return lambda row, _offers, _user: JobOffer(label, site_address(row.site, page))


def switch(row: Uploadable, _offers: Offers, user: "User | AnonymousUser") -> JobOffer | None:
    is_possible = row.site.sync_method == SyncMethod.API and may_administer(user, row.site)
    return JobOffer(_("Switch to Data Manager"), switch_path(row.site.pk)) if is_possible else None


STEPS: dict[str, RowStep] = {
    "connection": of_site(_("Open the site's connection"), "credentials"),
    "script": of_site(_("Open the site's script"), "ads_script"),
    "switch": switch,
}


def holdings(row: Any) -> list[tuple[str, object]]:
    facts: list[tuple[str, object]] = []
    if row.status == ConversionStatus.PROCESSING and row.claimed_at:
        holder = gettext("an upload") if row.open_batch_id else gettext("the site's script")
        facts += [(gettext("Claimed by"), holder), (gettext("Claimed at"), moment(row.claimed_at))]
        facts += [(gettext("Upload"), upload(row))] if row.open_batch_id else []
    if row.status in LIVE:
        limits = limits_of(row)
        left = {"left": max(0, limits.attempts_left), "most": limits.max_attempts}
        facts.append((gettext("Attempts left"), gettext("%(left)s of %(most)s") % left))
    return facts


CONVERSION = JobDescription(
    states=STATES,
    story=STORY,
    name=row_name,
    id_of=str,
    belongs_to=belongs_to,
    state_notes=state_notes,
    blockers=blockers.reasons,
    holdings=holdings,
    offers=with_forms,
    steps=STEPS,
    copied_fields={"source_key": "source_key", "order_id": "order_id", "whole_click_id": "click_id"},
    more_template="admin/ociqueue/adjustments.html",
    context=lambda _request, row: adjustments_context(row),
)

"""What the admins of conversions and adjustments have in common: rows that are uploaded, and three actions."""

from dataclasses import replace
from typing import Any

from django import forms
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget, UnfoldBooleanWidget

from kilit.console.lists.actions import Action
from kilit.console.lists.confirming import ReasonForm
from kilit.console.queue_admin import QueueAdmin
from ociqueue.models import Circuit, Site
from ociqueue.models.sending import UploadableQuerySet
from ociqueue.operating import operations
from ociqueue.operating.presenters import with_upload
from ociqueue.operating.site_health import open_circuits
from ociqueue.states import Category, ConversionStatus


class UploadableAdmin(QueueAdmin):
    most_acted_on = 5_000
    scope_filter = "site"

    # What is shown

    def get_queryset(self, request: HttpRequest) -> UploadableQuerySet[Any]:
        rows: UploadableQuerySet[Any] = super().get_queryset(request)
        return with_upload(rows.visible_to(request.user)).select_related("site")

    def complete(self, rows: list[Any]) -> None:
        circuits = {
            (circuit.site_id, circuit.action): circuit for circuit in open_circuits({row.site_id for row in rows})
        }
        for row in rows:
            row.held_by = circuits.get((row.site_id, Circuit.EVERY_ACTION)) or circuits.get((row.site_id, row.action))

    # Actions

    def acted_on_by(self, request: HttpRequest) -> UploadableQuerySet[Any]:
        rows: UploadableQuerySet[Any] = self.model._default_manager.filter(site__in=Site.objects.run_by(request.user))
        return rows


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
    code = forms.CharField(
        max_length=64,
        required=False,
        label=_("Error code"),
        widget=UnfoldAdminTextInputWidget(attrs={"placeholder": "MANUAL_FAIL"}),
    )
    category = forms.ChoiceField(
        required=False,
        label=_("Error category"),
        # Not TRANSIENT: a sweep may retry such rows, but the action promises that they are not retried.
        choices=[
            ("", _("PERMANENT (default)")),
            *((name, name) for name in Category.values if name != Category.TRANSIENT),
        ],
        widget=UnfoldAdminSelectWidget,
    )

    def options(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in ("code", "category", "reason") if self.cleaned_data[name]}


RETRY = Action(
    operations.RETRY,
    title=_("Retry"),
    done=_("Retried"),
    effect=_("They are queued again with a fresh budget of attempts; the error is kept."),
    is_done_at_once=True,
    undo="undo_retry",
)
RESET = Action(
    operations.RESET,
    title=_("Reset to queued"),
    done=_("Reset"),
    effect=_(
        "They are queued again with a fresh budget of attempts. A row that a script holds right now may be uploaded "
        "twice; Google counts it once."
    ),
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
    effect=_(
        "They are queued again with a fresh budget of attempts. One that is being sent may be sent twice; Google "
        "applies it once."
    ),
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

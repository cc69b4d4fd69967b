"""The three actions of an operator: each says what it will do, asks why, and reports what it did."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django import forms
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget, UnfoldBooleanWidget

from kilit.console.actions import ActionAtOnce, ReasonForm
from ociqueue.models import Conversion, Site
from ociqueue.models.queryset import ConversionQuerySet
from ociqueue.states import CONVERSIONS, Category

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User


class ResetForm(ReasonForm):
    """Asks also whether the error may be forgotten."""

    clear_errors = forms.BooleanField(
        required=False,
        label=_("Clear the error"),
        widget=UnfoldBooleanWidget,
        help_text=_("Empties code, category and text; the timeline keeps them."),
    )

    def options(self) -> dict[str, Any]:
        return {"clear_errors": self.cleaned_data["clear_errors"]}


class MarkFailedForm(ReasonForm):
    """Asks also for a code and a category, which have defaults."""

    code = forms.CharField(
        max_length=64,
        required=False,
        label=_("Error code"),
        widget=UnfoldAdminTextInputWidget(attrs={"placeholder": "MANUAL_FAIL"}),
    )
    category = forms.ChoiceField(
        required=False,
        label=_("Error category"),
        # Not TRANSIENT: a sweep may try such rows again, and whoever marks them failed is told that nobody does.
        choices=[
            ("", _("PERMANENT, unless you choose another")),
            *((name, name) for name in Category.values if name != Category.TRANSIENT),
        ],
        widget=UnfoldAdminSelectWidget,
    )

    def options(self) -> dict[str, Any]:
        """Return what was filled in; the verb knows the rest."""
        return {name: self.cleaned_data[name] for name in ("code", "category", "reason") if self.cleaned_data[name]}


class ConversionAction(ActionAtOnce):
    """A verb over conversions of the sites that a user runs."""

    table = CONVERSIONS
    model = Conversion
    scope = "site_id"
    beyond = gettext_noop("not of a site you run")

    def within_reach(self, rows: ConversionQuerySet, user: "User | AnonymousUser") -> ConversionQuerySet:
        """Keep the rows of sites that a user runs, named one by one, so that the indexes by site serve."""
        return rows.filter(site__in=list(Site.objects.run_by(user).values_list("pk", flat=True)))

    def move(self, rows: ConversionQuerySet, options: Mapping[str, Any]) -> set[UUID]:
        """Move by the queryset's verb of the same name; rows are locked by id, so operators wait and never deadlock."""
        moved: set[UUID] = getattr(rows, self.verb)(**options)
        return moved


RETRY = ConversionAction(
    "retry",
    "retry_selected",
    title=_("Retry"),
    done=_("Retried"),
    effect=_("They go back to QUEUED with a fresh budget of attempts; the error stays on them."),
    icon="replay",
)
RESET = ConversionAction(
    "reset",
    "reset_to_queued",
    title=_("Reset to queued"),
    done=_("Reset"),
    effect=_(
        "They go back to QUEUED with a fresh budget of attempts. One that a script holds at this moment may be "
        "uploaded twice; Google counts it once."
    ),
    icon="restart_alt",
    form=ResetForm,
)
MARK_FAILED = ConversionAction(
    "mark_failed",
    "mark_failed",
    title=_("Mark failed"),
    done=_("Marked failed"),
    effect=_("They go to FAILED and are not tried again, until somebody retries them."),
    icon="block",
    form=MarkFailedForm,
    is_dangerous=True,
)

"""The three actions of an operator: each says what it will do, asks why, and reports what it did (OCI-15, CON-4)."""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django import forms
from django.db import transaction
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget, UnfoldBooleanWidget

from lifecycle.console.actions import Action, Preview, ReasonForm, Report, are, left_as
from ociqueue.models import Conversion, Site
from ociqueue.settling import settle
from ociqueue.states import CONVERSIONS, Category

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User


class ResetForm(ReasonForm):
    """Asks also whether the error may be forgotten."""

    clear_errors = forms.BooleanField(
        required=False,
        label="Clear the error",
        widget=UnfoldBooleanWidget,
        help_text="Empties code, category and text; the timeline keeps them.",
    )

    def options(self) -> dict[str, Any]:
        """Return whether the error is cleared."""
        return {"clear_errors": self.cleaned_data["clear_errors"]}


class MarkFailedForm(ReasonForm):
    """Asks also for a code and a category, which have defaults."""

    code = forms.CharField(
        max_length=64,
        required=False,
        label="Error code",
        widget=UnfoldAdminTextInputWidget(attrs={"placeholder": "MANUAL_FAIL"}),
    )
    category = forms.ChoiceField(
        required=False,
        label="Error category",
        choices=[("", "PERMANENT, unless you choose another"), *((category, category) for category in Category.values)],
        widget=UnfoldAdminSelectWidget,
    )

    def options(self) -> dict[str, Any]:
        """Return what was filled in; the verb knows the rest."""
        return {name: self.cleaned_data[name] for name in ("code", "category", "reason") if self.cleaned_data[name]}


class ConversionAction(Action):
    """A verb over conversions of the sites that a user runs."""

    table = CONVERSIONS

    def preview(self, user: "User | AnonymousUser", ids: Sequence[UUID]) -> Preview:
        """Look at rows as the action would find them now."""
        mine = Conversion.objects.filter(pk__in=ids, site__in=Site.objects.run_by(user))
        states = Counter(mine.values_list("status", flat=True))
        beyond = len(ids) - states.total()
        more = [f"{beyond:,} {are(beyond)} not of a site you run, and will not be touched."] if beyond else []
        return self.foretell_by_state(len(ids), states, *more)

    def perform(self, user: "User | AnonymousUser", ids: Sequence[UUID], options: dict[str, Any]) -> Report:
        """Act on rows, all or none, by the queryset's verb of the same name."""
        sites = {site.pk: site for site in Site.objects.run_by(user)}
        # Site by site in one order, so that two operators over the same rows wait for each other and never deadlock.
        rows = Conversion.objects.filter(pk__in=ids, site__in=list(sites)).order_by("site_id", "pk")
        moved, left = 0, Counter[str]()
        with transaction.atomic():
            for site_id, pairs in groupby(rows.values_list("site_id", "pk"), key=lambda pair: pair[0]):
                chosen = [pk for _, pk in pairs]
                outcome = settle(sites[site_id], chosen, lambda mine: getattr(mine, self.verb)(**options))
                moved += outcome.moved
                left.update(status for _, status in outcome.left)
        beyond = len(ids) - moved - left.total()
        more = [f"{beyond:,} {are(beyond)} not of a site you run"] if beyond else []
        return self.report(len(ids), moved, *left_as(left), *more)


RETRY = ConversionAction(
    "retry_selected",
    title="Retry",
    done="Retried",
    effect="They go back to QUEUED with a fresh budget of attempts; the error stays on them.",
)
RESET = ConversionAction(
    "reset_to_queued",
    title="Reset to queued",
    done="Reset",
    effect="They go back to QUEUED with a fresh budget of attempts. One that a script holds at this moment may be "
    "uploaded twice; Google counts it once.",
    form=ResetForm,
)
MARK_FAILED = ConversionAction(
    "mark_failed",
    title="Mark failed",
    done="Marked failed",
    effect="They go to FAILED and are not tried again, until somebody retries them.",
    form=MarkFailedForm,
    is_dangerous=True,
)

"""*Cut by hand* in the console: who has cut which boards of a job without a saw, and when."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminIntegerFieldWidget

from kilit.console.lists.actions import Action
from kilit.console.lists.confirming import ReasonForm
from kilit.console.lists.fields import moment_field, text_field
from orchestrator.models import Job
from orchestrator.workflow import by_hand, half_cut


class CutForm(ReasonForm):
    cut_by = text_field(gettext_lazy("Who cut it"), 100, required=False, help_text=gettext_lazy("Empty: you."))
    boards = forms.IntegerField(required=False)  # replaced by that of the job
    cut_at = moment_field(gettext_lazy("When"), required=False, help_text=gettext_lazy("Empty: now."))

    field_order = ("cut_by", "boards", "cut_at", "reason")

    def clean_cut_at(self) -> Any:
        cut_at = self.cleaned_data["cut_at"]
        if cut_at and cut_at > timezone.now() + by_hand.CLOCKS_DIFFER:
            raise ValidationError(_("This is in the future."))
        return cut_at

    def options(self) -> dict[str, Any]:
        cut_at = self.cleaned_data["cut_at"]
        values = {
            "by": self.cleaned_data["cut_by"],
            "at": cut_at.isoformat() if cut_at else None,
            "boards": self.cleaned_data.get("boards"),
        }
        return {name: value for name, value in values.items() if value}


class CutAction(Action):
    def form_for(self, ids: Sequence[UUID], data: Any = None) -> ReasonForm:
        """Ask for a number of boards if it is one job; of several, all boards are cut."""
        form = super().form_for(ids, data)
        form.fields["reason"].required = False
        job = Job.objects.with_people().filter(pk__in=ids).first() if len(ids) == 1 else None
        if job is None:
            del form.fields["boards"]
        else:
            form.fields["boards"] = boards_field(by_hand.boards_of(job), cut=job.boards_cut)
        return form


def boards_field(of: int, *, cut: int) -> forms.IntegerField:
    help_text = _("Of %(number)s. Empty: all of them.") % {"number": of}
    return forms.IntegerField(
        label=_("Boards cut so far"),
        required=False,
        min_value=max(1, cut),
        max_value=of,
        help_text=help_text,
        widget=UnfoldAdminIntegerFieldWidget,
    )


CUT_BY_HAND = CutAction(
    by_hand.CUT_BY_HAND,
    title=gettext_lazy("Cut by hand"),
    asks=gettext_lazy("Was it cut by hand?"),
    done=gettext_lazy("Recorded as cut:"),
    effect=gettext_lazy("They end as done when all boards are cut. This cannot be taken back."),
    form=CutForm,
    back_label=gettext_lazy("Back"),
)
FINISH_BY_HAND = CutAction(
    by_hand.FINISH_BY_HAND,
    title=gettext_lazy("Further boards cut"),
    asks=gettext_lazy("Were further boards cut?"),
    done=gettext_lazy("Recorded as cut:"),
    effect=gettext_lazy("They end as done when all boards are cut. This cannot be taken back."),
    form=CutForm,
    back_label=gettext_lazy("Back"),
)
CANCEL_REST = Action(
    half_cut.CANCEL_REST,
    title=gettext_lazy("Cancel the rest"),
    asks=gettext_lazy("Cancel what is not cut yet?"),
    done=gettext_lazy("Rest cancelled:"),
    effect=gettext_lazy(
        "They end as done. The first boards of the plan count as cut, as many as are recorded: they are booked and"
        " charged by their share. The others go back to the stock. This cannot be taken back."
    ),
    is_dangerous=True,
    back_label=gettext_lazy("Back"),
)

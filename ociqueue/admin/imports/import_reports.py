"""How the console words what became of a file, whether it was imported at once or in the background."""

from collections.abc import Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kilit.console.formatting import number
from kilit.csv.reader import FileTally
from ociqueue.files.adjustments import AdjustmentTally
from ociqueue.files.corrections import COLUMNS as CORRECTION_COLUMNS
from ociqueue.files.corrections import CorrectionTally
from ociqueue.models import Site
from ociqueue.models.import_job import ImportKind
from ociqueue.schemas.adjustments import FIELDS as ADJUSTMENT_FIELDS
from ociqueue.schemas.conversions import fields_of

MOST_SHOWN = 200  # rejected lines on the page


def about_kind(kind: str) -> str:
    """Return how the file was understood, unless its lines are conversions."""
    if kind == ImportKind.ADJUSTMENTS:
        return _("This is a file of adjustments.")
    if kind == ImportKind.CORRECTIONS:
        return _("The file has a column “id”: its lines are corrections of failed conversions.")
    return ""


def submit_label(tally: FileTally) -> str:
    if isinstance(tally, AdjustmentTally):
        text = ngettext("Adjust %(number)s conversion", "Adjust %(number)s conversions", tally.created)
        return text % {"number": number(tally.created)}
    if isinstance(tally, CorrectionTally):
        text = ngettext("Correct and resend %(number)s row", "Correct and resend %(number)s rows", tally.created)
        return text % {"number": number(tally.created)}
    return _("Import %(number)s lines") % {"number": number(tally.changes)}


def columns_of(kind: str, site: Site) -> Sequence[str]:
    """Return the columns of the file of rejected lines."""
    if kind == ImportKind.ADJUSTMENTS:
        return ADJUSTMENT_FIELDS
    return fields_of(site, CORRECTION_COLUMNS) if kind == ImportKind.CORRECTIONS else fields_of(site)

"""The page that a label's QR code opens on a phone: what was done to this piece, and buttons for the next steps."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from kilit.api.errors import error_page
from orchestrator.api.status_page import opened_by
from orchestrator.job_links import PIECE_LINK
from orchestrator.models import Job
from orchestrator.models.job import SOLVED
from orchestrator.pieces import LabelledPiece, find_piece, steps_of
from orchestrator.planning.plan import SIDES, banded_sides
from orchestrator.planning.rules import valid_rules
from orchestrator.schemas.orders import plain
from orchestrator.schemas.rules import Rules
from orchestrator.states import JobState

LARGEST_ID = 2**63 - 1


@csrf_exempt  # There is no login that another site could use: who has the link may press, and nobody else can.
@require_http_methods(["GET", "HEAD", "POST"])
@opened_by(PIECE_LINK)
def piece_page(request: HttpRequest, job: Job, part: int, piece: int) -> HttpResponse:
    found, rules = find_piece(job, part, piece), valid_rules()
    if found is None or rules is None:
        return error_page(404, _("There is no such piece."), is_console=False)
    if request.method == "POST":
        _press(request, job, found, rules)
        return HttpResponseRedirect(request.path)
    return HttpResponse(render_to_string("orchestrator/piece.html", _context(job, found, rules)))


def _press(request: HttpRequest, job: Job, piece: LabelledPiece, rules: Rules) -> None:
    name, row_id = request.POST.get("step", ""), request.POST.get("take_back", "")
    for step in steps_of(piece.part, rules):
        if step == name:
            piece.record(step)
    if job.status in SOLVED and row_id.isascii() and row_id.isdecimal() and int(row_id) <= LARGEST_ID:
        piece.take_back(int(row_id))


def _context(job: Job, piece: LabelledPiece, rules: Rules) -> dict[str, object]:
    part, rows = piece.part, list(piece.rows())
    done = {row.step: row for row in rows if row.taken_back_at is None}
    steps = [(step, done.get(step)) for step in steps_of(part, rules)]
    sizes = (plain(rules.millimetres(size)) for size in (part.length_cm, part.width_cm))
    facts = [
        (_("Material"), f"{part.material_code} · {part.color} · {plain(part.thickness_mm)} mm"),
        *((SIDES[side], name) for side, name in banded_sides(part, rules).items()),
        (_("Drill code"), part.drill_code),
        (_("Note"), part.desc1),
    ]
    return {
        "job": job,
        "piece": piece,
        "size": " × ".join(sizes),
        "facts": [fact for fact in facts if fact[1]],
        "steps": steps,
        "next_step": next((step for step, row in steps if row is None), None),
        "refusal": "" if job.status in SOLVED else _why_closed(job),
        "taken_back": [row for row in rows if row.taken_back_at],
        "zone": settings.SHOP_TIME_ZONE if rows else "",
    }


def _why_closed(job: Job) -> str:
    if job.is_cancelled:
        return _("The order was cancelled: do not work on this piece.")
    if job.status == JobState.FAILED:
        return _("The order has stopped: ask in the office before you work on this piece.")
    return _("The order is not planned yet. Steps are recorded from the plan on.")

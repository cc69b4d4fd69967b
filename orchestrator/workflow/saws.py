"""Which of several saws cuts a job: decided with its plan, unless people have chosen one (saw_choice)."""

from collections.abc import Iterator
from decimal import Decimal

from orchestrator import sentences
from orchestrator.errors import Code, JobError
from orchestrator.models import Job
from orchestrator.optiplanning.solution import plates_of
from orchestrator.orders.order import order_from
from orchestrator.planning.rules import current_rules
from orchestrator.planning.saws import Boards, has_folder, saw_for
from orchestrator.saw.saw_handover import files_to_deliver, is_cut_in_part
from orchestrator.schemas.rules import Rules


def hold_without_saw(job: Job) -> None:
    """Raise if no saw takes the order's plate, so that nobody plans it in vain."""
    rules = current_rules()
    if (rules.saws or job.saw_is_chosen) and not is_cut_in_part(job):
        saw_for(Boards.of(order_from(job.payload), rules), rules, chosen=job.saw if job.saw_is_chosen else "")


def who_cuts(job: Job) -> tuple[str, bool]:
    """Return the saw of a plan, and whether people cut it; what a saw has begun it ends, whatever the rules say by now.

    Call it in the transaction that stores the answer: the row is locked, so a choice of people is not lost.
    """
    rules = current_rules()
    if job.open_deliveries or is_cut_in_part(job):
        return job.saw, False
    if not (rules.saws or job.saw_is_chosen):
        return "", rules.cut_by == "hand"
    name, is_chosen = Job.objects.select_for_update().values_list("saw", "saw_is_chosen").get(pk=job.pk)
    saw = saw_for(boards_of(job, rules), rules, chosen=name if is_chosen else "")
    return (saw.name, saw.by_hand) if saw else ("", rules.cut_by == "hand")


def require_folder(job: Job) -> None:
    """Raise before a file gets into the folder of another saw, because this one has none, or none any more."""
    if not has_folder(job.saw, current_rules()) and files_to_deliver(job):
        raise JobError(Code.NO_SAW, sentences.SAW_WITHOUT_FOLDER % {"saw": job.saw})


def boards_of(job: Job, rules: Rules) -> Boards:
    return Boards.of(order_from(job.payload), rules, planned=_planned(job) if job.xml_sha256 else ())


def _planned(job: Job) -> Iterator[tuple[Decimal, Decimal]]:
    for file in job.solution_files.values_list("pk", "sha256"):
        for length, width in plates_of(*file):
            if length and width:
                yield Decimal(str(length)), Decimal(str(width))

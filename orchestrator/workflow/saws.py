"""Which of several saws cuts a job: decided with its plan, or chosen by people while no saw has its files."""

from collections.abc import Iterator
from decimal import Decimal
from uuid import UUID

from kilit.api.errors import ApiError
from kilit.lock.audit import current_context
from kilit.lock.models import Event
from kilit.sentences import translated
from orchestrator import sentences
from orchestrator.errors import Code, JobError
from orchestrator.models import Job
from orchestrator.optiplanning.solution import plan_of
from orchestrator.orders.order import order_from
from orchestrator.planning.rules import current_rules, valid_rules
from orchestrator.planning.saws import Boards, saw_for, why_not, without_folder
from orchestrator.saw.saw_handover import is_cut_in_part
from orchestrator.schemas.rules import Rules
from orchestrator.states import JobState
from orchestrator.workflow.decisions import approve, deciding, find, refusal, require_rules

SAW_CHOSEN = "SAW_CHOSEN"


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
    """Raise before a file gets into the folder of another saw, because that of this one is no longer set."""
    if job.saw in without_folder(current_rules()):
        raise JobError(Code.NO_SAW, sentences.SAW_WITHOUT_FOLDER % {"saw": job.saw})


def boards_of(job: Job, rules: Rules) -> Boards:
    return Boards.of(order_from(job.payload), rules, planned=_planned(job) if job.xml_sha256 else ())


def _planned(job: Job) -> Iterator[tuple[Decimal, Decimal]]:
    for file in job.solution_files.values_list("pk", "sha256"):
        if plan := plan_of(*file):
            yield from ((Decimal(str(each.length)), Decimal(str(each.width))) for each in plan.patterns)


def choice_of_saws(job: Job) -> dict[str, str] | None:
    """Return the saws of the rules, each with why people cannot choose it for a job, or None if its saw is decided."""
    rules = valid_rules()
    if rules is None or not (rules.saws or job.saw_is_chosen) or not _before_a_saw(job.pk):
        return None
    boards = boards_of(job, rules)
    offered = [saw for saw in rules.saws if saw.by_hand or not job.is_with_people]
    return {saw.name: translated(why_not(saw, boards, rules, is_chosen=True)) for saw in offered}


def _before_a_saw(pk: UUID, *, lock: bool = False) -> Job | None:
    rows = Job.objects.before_a_saw().filter(~Job.objects.with_the_saw(), pk=pk, boards_cut=0)
    return (rows.select_for_update(of=("self",)) if lock else rows).first()


def choose_saw(pk: UUID, name: str) -> Job:
    """Have a job cut at a saw of the rules, or by the rules again if the name is empty.

    A job on HOLD because no saw fitted goes on; a failed one is retried by another decision.
    """
    require_rules()
    with deciding(sentences.SAW_WAS_CHOSEN):
        job = _before_a_saw(pk, lock=True)
        choice = choice_of_saws(job) if job else None
        if job is None or choice is None:
            text = f"{find(pk)} keeps its saw: it is there, or there are not several."
            raise refusal(find(pk), "SAW_IS_DECIDED", text)
        if reason := choice.get(name, f"There is no saw {name}." if name or job.is_with_people else ""):
            raise ApiError(422, Code.NO_SAW, reason)
        if (job.saw if job.saw_is_chosen else "") != name:
            Job.objects.filter(pk=pk).update(saw=name, saw_is_chosen=bool(name))
            details = {"before": job.saw, "after": name}
            Event.objects.record(job, SAW_CHOSEN, message=current_context().reason, details=details)
        if job.status == JobState.HOLD and job.error_code == Code.NO_SAW:
            return approve(pk)
        return find(pk)

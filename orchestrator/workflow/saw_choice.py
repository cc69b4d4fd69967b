"""The saw that people choose for a job while no saw has its files."""

from uuid import UUID

from kilit.api.errors import ApiError
from kilit.lock.audit import current_context
from kilit.lock.models import Event
from kilit.sentences import translated
from orchestrator import sentences
from orchestrator.errors import Code
from orchestrator.models import Job
from orchestrator.planning.rules import valid_rules
from orchestrator.planning.saws import why_not
from orchestrator.states import JobState
from orchestrator.workflow.decisions import approve, deciding, find, refusal, require_rules
from orchestrator.workflow.saws import boards_of

SAW_CHOSEN = "SAW_CHOSEN"


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

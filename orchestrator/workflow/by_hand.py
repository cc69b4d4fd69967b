"""Cut by hand: in a shop without a saw that takes files, people say which boards they have cut, and the job ends."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Q, Value, When
from django.utils.translation import gettext_noop

from kilit.api.errors import ApiError
from kilit.lock.audit import actor_in_words, current_context
from kilit.lock.clock import database_time
from kilit.lock.guard import MoveRefused
from kilit.lock.models import Event
from orchestrator import sentences
from orchestrator.errors import Code
from orchestrator.figures.job_figures import figures_json
from orchestrator.models import Job
from orchestrator.optiplanning.solution import plates_of
from orchestrator.states import JobState
from orchestrator.workflow.decisions import JobOperation, deciding, find, refusal

BOARDS_CUT = "BOARDS_CUT"
HAS_A_SAW = gettext_noop("a saw takes it, and only the saw ends it")
CLOCKS_DIFFER = timedelta(minutes=2)


def cut_by_hand(pk: UUID, *, by: str = "", at: datetime | str | None = None, boards: int | None = None) -> Job:
    """Record that people have cut a job without a saw: all its boards, or so many so far; after the last it is DONE.

    Whoever decides it has cut it now, unless they name another person or time. Sent twice it counts once.
    """
    by = by or actor_in_words(current_context().actor)
    with deciding(sentences.CUT_BY_HAND % {"name": by}):
        job = Job.objects.with_people().filter(pk=pk).select_for_update(of=("self",)).first()
        if job is None:
            raise why_not_cut(find(pk))
        of = boards_of(job)
        boards = of if boards is None else boards
        if not job.boards_cut <= boards <= of or not boards:
            message = f"Expected how many boards of {job} are cut so far, from {max(1, job.boards_cut)} to {of}."
            raise ApiError(422, Code.VALIDATION, message)
        cut_at = moment_of_cutting(job, at)
        rows = Job.objects.filter(pk=pk)
        if rows.note_boards(boards, by=by, at=cut_at):
            details = {"boards": boards, "of": of, "by": by, "at": (cut_at or database_time()).isoformat()}
            Event.objects.record(job, BOARDS_CUT, message=current_context().reason, details=details)
        if boards == of:
            rows.finish_by_hand(figures=figures_json(job))
        return find(pk)


def boards_of(job: Job) -> int:
    """Return how many boards a job has; a file that does not name its boards counts as one."""
    files = job.solution_files.values_list("pk", "sha256")
    return sum(plates_of(*file).total() or 1 for file in files) or 1


def moment_of_cutting(job: Job, at: datetime | str | None) -> datetime | None:
    """Return when it was cut, or None for now: not in the future, and not before there was a plan."""
    if at is None:
        return None
    moment = datetime.fromisoformat(at) if isinstance(at, str) else at
    if job.xml_ready_at and not job.xml_ready_at - timedelta(minutes=1) <= moment <= database_time() + CLOCKS_DIFFER:
        raise ApiError(
            422,
            Code.VALIDATION,
            f"{job} was planned at {job.xml_ready_at:%Y-%m-%d %H:%M} UTC, and cut between then and now.",
        )
    return moment


def why_not_cut(job: Job, verb: str = "cut_by_hand") -> Exception:
    if verb == "cancel_rest" and job.is_with_people:
        return refusal(job, "NOTHING_CUT", f"Nothing of {job} is cut yet: cancel it as a whole.")
    if job.status in (JobState.XML_READY, JobState.DELIVERED):
        return refusal(job, "HAS_A_SAW", f"{job} cannot be cut by hand: a saw takes it, and only the saw ends it.")
    return MoveRefused(job, verb, job.status)


@dataclass(frozen=True, kw_only=True)
class CutByHand(JobOperation):
    def skipped(self) -> list[When]:
        return [When(Q(status__in=self.sources, by_hand=False), then=Value(HAS_A_SAW))]


CUT_BY_HAND = CutByHand("cut_by_hand", "cut_by_hand", decide=cut_by_hand)
FINISH_BY_HAND = CutByHand("finish_by_hand", "finish_by_hand", decide=cut_by_hand)

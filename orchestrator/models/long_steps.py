"""Which jobs need a runner that waits: their next step may outlast a worker's task."""

from django.db.models import Q

from orchestrator.states import JobState, Mode

# Writing more sheets than this may take long on a slow share.
MANY_BATCHES = 100


def takes_long() -> Q:
    """Match jobs whose next step may outlast a worker's task: a plan of the boards, or writing very many sheets."""
    optimizing = Q(status=JobState.OPTI_IMPORTED, xml_sha256="") | Q(status=JobState.OPTI_RUNNING, opti_ended_at=None)
    writing = Q(status=JobState.PREPARED, batch_count__isnull=False, batch_count__gt=MANY_BATCHES)
    return Q(optimizing, opti_mode__in=[Mode.A, Mode.B]) | writing | to_plan()


def to_plan() -> Q:
    """Match jobs that the built-in optimiser has to plan."""
    return Q(status=JobState.PREPARED, opti_mode=Mode.D, xml_sha256="")

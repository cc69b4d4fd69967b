"""The lifecycles of a cutting job, from the order to the saw, and of what is in the store."""

from functools import partial

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

from kilit.lock.table import Answer, By, Claim, Lifecycle, move, report


class JobState(TextChoices):
    NEW = "NEW"  # The order is stored and waits for a runner.
    PREPARED = "PREPARED"  # Customer, rules and template are fine; no file has been written yet.
    OPTI_IMPORTED = "OPTI_IMPORTED"  # The Excel sheets are in OptiPlanning's import folder.
    OPTI_RUNNING = "OPTI_RUNNING"  # OptiPlanning works on the sheets; only one job at a time may be here.
    OPTI_DONE = "OPTI_DONE"  # OptiPlanning's solution is stored with the job.
    XML_READY = "XML_READY"  # The solution was checked; it waits for the saw or for the saw's answer.
    DELIVERED = "DELIVERED"  # The saw has taken every file.
    DONE = "DONE"  # Finished.
    HOLD = "HOLD"  # An operator has to fix something, then approve.
    FAILED = "FAILED"  # Failed or cancelled. It will not be retried automatically.


class StockState(TextChoices):
    AVAILABLE = "AVAILABLE", _("Available")  # It is in the store, and no job has it.
    RESERVED = "RESERVED", _("Reserved")  # A job's plan cuts it.
    USED = "USED", _("Used")  # A job has cut it.
    SCRAPPED = "SCRAPPED", _("Taken out")  # It left the store otherwise: broken, sold, or not there when counted.


class Mode(TextChoices):
    """Who plans the boards: OptiPlanning, started in one of three ways, or the built-in optimiser."""

    A = "A", _("A: command line")
    B = "B", _("B: Excel macro")
    C = "C", _("C: by the operator")
    D = "D", _("D: built-in optimiser")


# These wait for an operator or are finished.
AT_REST = (JobState.DONE, JobState.HOLD, JobState.FAILED)
# Nothing is over yet: the customer waits.
OPEN = tuple(state for state in JobState if state not in (JobState.DONE, JobState.FAILED))
# A runner claims jobs in these states when they are due.
WORKING = tuple(state for state in JobState if state not in AT_REST)
# OptiPlanning or the saw has worked on these, and time limits run.
STARTED = (JobState.OPTI_RUNNING, JobState.OPTI_DONE, JobState.XML_READY, JobState.DELIVERED)
# OptiPlanning has not started; operators may change the priority.
BEFORE_OPTIPLANNING = (JobState.NEW, JobState.PREPARED, JobState.OPTI_IMPORTED, JobState.HOLD)
# The saw has it, or people have begun to cut it.
HANDED = (JobState.DELIVERED, JobState.DONE)
# A job in one of these has an error and belongs to an error group.
FAILING = (JobState.HOLD, JobState.FAILED)
# The saw may have a file of these, and has not answered for it. At rest, an operator has to ask at the saw.
MAY_BE_WITH_THE_SAW = (JobState.XML_READY, JobState.FAILED)
# Nothing has reached the saw yet. Later states depend on the saw's answer: a cancelled job must never be cut.
CANCELLABLE = (JobState.NEW, JobState.PREPARED, JobState.OPTI_IMPORTED, JobState.OPTI_RUNNING, JobState.HOLD)

# People cut the boards of a job without a saw, and say so. No runner looks at it until then.
BY_HAND = {"by_hand": True}
WITH_PEOPLE = {JobState.XML_READY: BY_HAND, JobState.DELIVERED: BY_HAND}
FOR_THE_SAW = ({"by_hand": False},)

# Which saw cuts it is decided when its plan is checked; until then, and once no saw has its files, people may choose.
BEFORE_A_SAW = (*CANCELLABLE, JobState.OPTI_DONE, JobState.FAILED)

# A runner's step: it holds the job before and after.
step = partial(move, by=By.HOLDER, claim=Claim.NEEDS)
# The saw may have a file, and an operator has to ask there.
TAKEN = {"open": False, "taken": True}
UNDECIDED = ({"open": True},)

JOBS = Lifecycle(
    "cutting_job",
    states=JobState,
    initial=[JobState.NEW],
    waiting=[JobState.NEW],
    held=[state for state in WORKING if state != JobState.NEW],
    done=[JobState.DONE],
    failed=FAILING,
    by_hand={"cancel": "E_CANCELLED", "cancel_uncut": "E_CANCELLED"},
    with_people=WITH_PEOPLE,
    labels={
        JobState.NEW: _("New"),
        JobState.PREPARED: _("Prepared"),
        JobState.OPTI_IMPORTED: _("Imported into OptiPlanning"),
        JobState.OPTI_RUNNING: _("Optimization running"),
        JobState.OPTI_DONE: _("Optimization finished"),
        JobState.XML_READY: _("XML ready"),
        JobState.DELIVERED: _("Being cut"),  # by the saw, which has taken it, or by people
        JobState.HOLD: _("Needs approval"),
    },
    moves={
        # Find the customer, check the template and apply the rules to every part.
        "prepare": step(JobState.NEW, to=JobState.PREPARED),
        # Write the Excel sheets into OptiPlanning's import folder.
        "import_files": step(JobState.PREPARED, to=JobState.OPTI_IMPORTED),
        # Take OptiPlanning's single slot.
        "start": step(JobState.OPTI_IMPORTED, to=JobState.OPTI_RUNNING, alone=True),
        # Store the plan of the built-in optimiser, which has no slot.
        "plan": step(JobState.PREPARED, to=JobState.OPTI_DONE),
        # Use the stored solution: it belongs to these parts, so no one has to plan them again.
        "reuse_solution": step(JobState.PREPARED, JobState.OPTI_IMPORTED, to=JobState.OPTI_DONE),
        # Store the solution from the export folder.
        "collect": step(JobState.OPTI_RUNNING, to=JobState.OPTI_DONE),
        # Check the stored solution before it goes to a machine.
        "validate": step(
            JobState.OPTI_DONE,
            to=JobState.XML_READY,
            sends=({"open": False, "taken": False, "by_hand": False},),
            sets={"by_hand": False},
        ),
        # Check the stored solution, and leave it to people: there is no saw.
        "await_cutting": report(
            JobState.OPTI_DONE, to=JobState.XML_READY, when=({"open": False, "taken": False},), sets=BY_HAND
        ),
        # Record that the saw has taken every file.
        "deliver": step(
            JobState.XML_READY,
            to=JobState.DELIVERED,
            after=Answer.YES,
            when=FOR_THE_SAW,
            sets={"open": False, "taken": True},
        ),
        # Close the job.
        "finish": report(JobState.DELIVERED, to=JobState.DONE, when=FOR_THE_SAW),
        # Wait for an operator: the error can be fixed outside the job.
        "hold": report(JobState.NEW, JobState.PREPARED, JobState.OPTI_IMPORTED, to=JobState.HOLD),
        # Give up with an error code. The files are taken back from the saw first; those that cannot be stay open.
        "fail": report(
            *WORKING,
            to=JobState.FAILED,
            by={By.HOLDER, By.SWEEP},
            after=(Answer.NO, Answer.NONE),
            when=FOR_THE_SAW,
        ),
        # An operator fixed the cause: check the job again.
        "approve": move(JobState.HOLD, to=JobState.NEW, by=By.OPERATOR),
        # An operator retries a failed job, with a delay that grows each time.
        "retry": move(
            JobState.FAILED, to=JobState.NEW, by=By.OPERATOR, when=({"open": False},), sets={"by_hand": False}
        ),
        # An operator takes a retry back, before a runner has claimed the job.
        "undo_retry": move(JobState.NEW, to=JobState.FAILED, by=By.OPERATOR),
        # An operator asked at the saw: a file that left the inbox without an answer was cut.
        "confirm_cut": move(JobState.FAILED, to=JobState.DONE, by=By.OPERATOR, when=UNDECIDED, sets={"open": False}),
        # An operator asked at the saw: it was not cut, or not all of it. Deliver the same solution under a new name.
        "hand_over": move(JobState.FAILED, to=JobState.OPTI_DONE, by=By.OPERATOR, when=UNDECIDED, sets={"open": False}),
        # An operator ends the job before the saw has it.
        "cancel": move(*CANCELLABLE, to=JobState.FAILED, by=By.OPERATOR),
        # People have cut boards of a job without a saw, or begun to.
        "cut_by_hand": move(
            JobState.XML_READY, to=JobState.DELIVERED, by=By.OPERATOR, when=(BY_HAND,), is_done_outside=True
        ),
        # People have cut the last board.
        "finish_by_hand": move(JobState.DELIVERED, to=JobState.DONE, by=By.OPERATOR, when=(BY_HAND,)),
        # An operator ends a job of which people have cut some boards: what was not cut is given back.
        "cancel_rest": move(JobState.DELIVERED, to=JobState.DONE, by=By.OPERATOR, when=(BY_HAND,)),
        # An operator ends a job without a saw before its first board is cut.
        "cancel_uncut": move(JobState.XML_READY, to=JobState.FAILED, by=By.OPERATOR, when=(BY_HAND,)),
    },
)

STOCK = Lifecycle(
    "stock_item",
    states=StockState,
    initial=[StockState.AVAILABLE],
    labels=dict(StockState.choices),
    moves={
        # A plan cuts it; stored in the same transaction as the plan.
        "reserve": move(StockState.AVAILABLE, to=StockState.RESERVED, by=By.ROW),
        # The job was cancelled, failed before anything was cut, or is planned again.
        "give_back": move(StockState.RESERVED, to=StockState.AVAILABLE, by=By.ROW),
        # The job failed when it was cut in part, and an operator knows that this is still there.
        "release": move(StockState.RESERVED, to=StockState.AVAILABLE, by=By.OPERATOR),
        # The job is done.
        "book": move(StockState.RESERVED, to=StockState.USED, by=By.ROW),
        # The job is done, and was planned with more boards than there were then.
        "use": move(StockState.AVAILABLE, to=StockState.USED, by=By.ROW),
        # It is no longer there.
        "take_out": move(StockState.AVAILABLE, to=StockState.SCRAPPED, by=By.OPERATOR),
        # It is there after all.
        "restore": move(StockState.SCRAPPED, to=StockState.AVAILABLE, by=By.OPERATOR),
        # The job did not need it after all.
        "put_back": move(StockState.USED, to=StockState.AVAILABLE, by=By.OPERATOR),
    },
)
ON_HAND = (StockState.AVAILABLE, StockState.RESERVED)
OF_A_JOB = (StockState.RESERVED, StockState.USED)

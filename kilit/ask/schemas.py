"""What the verbs take and return, declared once: validation, OpenAPI, and the schemas of tools."""

from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import BeforeValidator, Field, model_validator
from typing_extensions import TypedDict

from kilit.api.input_model import Id, InputModel, Time, invalid, line

MOST_ACTED_ON = 1_000
MOST_NAMED = 10  # of what a text finds, in an error
LONGEST_TEXT = 512  # a click id
JOB = "0192e4a0-7c1e-7d2a-9b3c-4d5e6f708192"


def bare_uuid(value: object) -> object:
    """Return the id out of a name as pages show it, such as `seal_0192…` or `job 0192…`."""
    try:
        return UUID(value.strip()[-len(JOB) :] if isinstance(value, str) else "")
    except ValueError:
        raise invalid(f"Expected an id, as in {JOB}.") from None


JobId = Annotated[UUID, BeforeValidator(bare_uuid, json_schema_input_type=str)]
Reason = Annotated[str, line(200), Field(description="Why; it is kept in each job's history.")]
SiteText = Annotated[str, line(100), Field(description="A site's public id, or words of its name.")]


class AskInput(InputModel):
    """Which queue; all, if none is named."""

    queue: Annotated[str, line(32), Field(description="A queue's name, as queue_stats lists it.")] | None = None

    examples = {"all": {}}


class ExplainInput(AskInput):
    """One job."""

    job: Annotated[str, line(LONGEST_TEXT), Field(description="A job's id, or a text that finds this job alone.")]

    examples = {"a job": {"job": JOB}}


class GroupsInput(AskInput):
    """Which error groups."""

    limit: Annotated[int, Field(ge=1, le=50)] = 20


class FindInput(GroupsInput):
    """What to look for."""

    text: Annotated[str, line(LONGEST_TEXT), Field(min_length=2, description="How what people call it begins.")]

    examples = {"an order": {"text": "demo-10"}}


class SitesInput(InputModel):
    """Which sites; all, if none is named."""

    site: SiteText | None = None
    limit: Annotated[int, Field(ge=1, le=200)] = 50

    examples = {"all": {}}


class ActInput(AskInput):
    """Jobs, by their ids or as an error group of a queue, and why."""

    reason: Reason
    ids: Annotated[list[JobId], Field(min_length=1, max_length=MOST_ACTED_ON)] | None = None
    group: Annotated[str, line(64), Field(description="An error group's name, as error_groups has it.")] | None = None

    examples = {"a job": {"ids": [JOB], "reason": "The printer has paper again."}}

    @model_validator(mode="after")
    def names_jobs_once(self) -> Self:
        if (self.ids is None) == (self.group is None or self.queue is None) or (self.ids and self.group):
            raise invalid("Expected ids, or a queue and a group.")
        return self


class PauseInput(AskInput):
    """A queue or a site, and why."""

    reason: Reason
    site: SiteText | None = None

    examples = {"a site": {"site": "4f1d2c3b5a69788796a5b4c3d2e1f001", "reason": "The shop moves."}}

    @model_validator(mode="after")
    def names_one(self) -> Self:
        if (self.queue is None) == (self.site is None):
            raise invalid("Expected a queue or a site.")
        return self


class AskJob(TypedDict):
    """A job of any queue."""

    id: Id
    queue: str
    name: str
    belongs_to: str
    state: str
    state_words: str
    error_code: str | None
    error_words: str | None
    created_at: Time
    link: str


class AskProblem(TypedDict):
    """Something that is wrong now."""

    key: str
    queue: str
    kind: str
    severity: Literal["notice", "warning", "error", "critical"]
    title: str
    cause: str
    code: str
    advice: str
    count: int
    where: list[str]
    beyond: int
    since: Time | None
    link: str | None


class AskProblems(TypedDict):
    """What is wrong, the most harmful first."""

    problems: list[AskProblem]


class AskMatches(TypedDict):
    """Jobs, the newest first."""

    jobs: list[AskJob]
    more: bool


class AskBlocker(TypedDict):
    """What keeps a job from going on, or that nothing does."""

    kind: Literal["blocked", "waiting", "ended", "ready"]
    sentence: str


class AskAdvice(TypedDict):
    """An error, what helps, and whose turn it is."""

    code: str
    words: str
    message: str
    advice: str
    turn: str


class AskError(AskAdvice):
    """A job's error."""

    cause: str


class AskStep(TypedDict):
    """A step of a job's history."""

    at: Time
    sentence: str
    state: str
    message: str
    error_code: str
    error_message: str


class AskAction(TypedDict):
    """What may be done with a job, and by whom; some only in the console, and those have no verb."""

    name: str
    title: str
    effect: str
    verb: str | None
    allowed: bool
    by: str


class AskExplanation(TypedDict):
    """A job, what keeps it from going on, its error, its history with the newest step first, and what may be done."""

    job: AskJob
    blockers: list[AskBlocker]
    error: AskError | None
    timeline: list[AskStep]
    actions: list[AskAction]


class AskGroup(AskAdvice):
    """Failures that look alike."""

    queue: str
    group: str
    count: int
    states: dict[str, int]
    first_at: Time
    last_at: Time
    last_day: int


class AskGroups(TypedDict):
    """Error groups, the largest first."""

    groups: list[AskGroup]


class AskSite(TypedDict):
    """How a site is doing."""

    site_id: str
    name: str
    is_paused: bool
    pause_reason: str
    counts: dict[str, int]
    waiting: int
    stuck: int
    failure_rate: float | None
    findings: list[str]


class AskSites(TypedDict):
    """Sites by name."""

    sites: list[AskSite]
    more: bool


class AskQueue(TypedDict):
    """How many jobs of a queue are in each state now, and what became of those that ended in the last 24 hours."""

    queue: str
    title: str
    counts: dict[str, int]
    waiting: int
    in_progress: int
    done: int
    failed: int
    ended_well: int
    ended_badly: int
    oldest_waiting_since: Time | None
    is_paused: bool
    paused_by: str
    pause_reason: str


class AskQueues(TypedDict):
    """Queues, and whether any worker runs."""

    queues: list[AskQueue]
    workers_running: bool


class AskUnchanged(TypedDict):
    """A job that was left as it is, and why."""

    id: Id
    state: str | None
    why: str


class AskOutcome(TypedDict):
    """What became of each job."""

    changed: int
    ids: list[Id]
    unchanged: list[AskUnchanged]
    message: str


class AskSwitch(TypedDict):
    """Whether anything changed."""

    changed: bool
    message: str


class AskVerb(TypedDict):
    """A verb that the caller may use."""

    name: str
    title: str
    description: str
    scope: str


class AskOffer(TypedDict):
    """Who the caller is, the queues that it sees, and the verbs that it may use."""

    user: str
    key: str | None
    scopes: list[str]
    version: str
    queues: dict[str, str]
    verbs: list[AskVerb]

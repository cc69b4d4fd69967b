"""The commands that ask what is wrong, where a job is and why, and those that act, each with a reason."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated
from uuid import UUID

from cyclopts import Parameter
from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from kilit_cli.api import JsonObject, KilitApi
from kilit_cli.failures import ExitCode, Failure
from kilit_cli.logins import current_login
from kilit_cli.output import AsJson, age, below, clock, line, number, out, show, styled, table, tint

SHORTEST_PAUSE, MOST_PROBLEMS = 1.0, 8  # of `watch`
Queue = Annotated[str | None, Parameter(help="Only this queue, as `find` and `groups` name it.")]
Limit = Annotated[int | None, Parameter(help="At most so many.")]
Site = Annotated[str | None, Parameter(help="A site's public id, or words of its name.")]
Check = Annotated[bool, Parameter(negative="", help="For cron: print nothing if there are none, else exit with 1.")]
Job = Annotated[str, Parameter(help="An id, or a text that `find` finds once.")]
Reason = Annotated[str, Parameter(alias="-r", help="Why; it stands in the timeline.")]
ErrorGroup = Annotated[str | None, Parameter(help="All of an error group of --queue instead, at most 1,000.")]

Every = Annotated[float, Parameter(help="Seconds between two looks, at least 1.")]
Once = Annotated[bool, Parameter(negative="", help="Print the screen once.")]


@Parameter(name="*")
@dataclass(kw_only=True)
class ActOptions:
    reason: Reason
    queue: Queue = None
    group: ErrorGroup = None
    json: AsJson = False


def connect() -> KilitApi:
    return KilitApi(current_login())


def ask(verb: str, **fields: object) -> JsonObject:
    """Call a verb with the fields that have a value."""
    return connect().post(f"/api/ask/{verb}", {name: value for name, value in fields.items() if value is not None})


def problems(*, queue: Queue = None, check: Check = False, json: AsJson = False) -> ExitCode:
    """Show what is wrong, worst first, with the cause and what to do."""
    answer = ask("problems", queue=queue)
    if answer["problems"] or not check:
        show(answer, draw_problems, as_json=json)
    return ExitCode.REFUSED if check and answer["problems"] else ExitCode.DONE


def find(text: str, *, queue: Queue = None, limit: Limit = None, json: AsJson = False) -> ExitCode:
    """Find jobs by key, order id, phone, customer, number or id; exit with 4 if there are none."""
    answer = ask("find", text=text, queue=queue, limit=limit)
    show(answer, draw_jobs, as_json=json)
    return ExitCode.DONE if answer["jobs"] else ExitCode.NOT_FOUND


def explain(job: Job, *, queue: Queue = None, json: AsJson = False) -> None:
    """Say why a job is where it is, what may be done about it and by whom, and what happened to it."""
    show(ask("explain", job=job, queue=queue), draw_explanation, as_json=json)


def groups(*, queue: Queue = None, limit: Limit = None, json: AsJson = False) -> None:
    """Show similar failures together, the largest group first."""
    show(ask("error_groups", queue=queue, limit=limit), draw_groups, as_json=json)


def site(name: Site = None, *, limit: Limit = None, json: AsJson = False) -> None:
    """Show how sites are doing."""
    show(ask("site_health", site=name, limit=limit), draw_sites, as_json=json)


def stats(*, queue: Queue = None, json: AsJson = False) -> None:
    """Count the jobs of each queue."""
    show(ask("queue_stats", queue=queue), draw_stats, as_json=json)


def watch(*, every: Every = 2.0, once: Once = False) -> None:
    """Show live counts of all queues and what is wrong, on one screen; Ctrl-C ends it."""
    api = connect()
    screen = look(api)
    if once:
        out.print(screen)
        return
    with Live(screen, console=out, screen=out.is_terminal, auto_refresh=False) as live:
        while True:
            time.sleep(max(every, SHORTEST_PAUSE))
            try:
                screen = look(api)
                live.update(screen, refresh=True)
            except Failure as failure:
                if failure.exit_code != ExitCode.UNREACHABLE:
                    raise
                # The server may be restarting: the last counts stay.
                live.update(Group(tint(f"{failure.message} Looking again …", "failed"), screen), refresh=True)


def look(api: KilitApi) -> Group:
    return Group(*draw_screen(api.address, api.post("/api/ask/queue_stats", {}), api.post("/api/ask/problems", {})))


def act_on_jobs(verb: str, about: str) -> Callable[..., ExitCode]:
    """Return the command of a verb that takes jobs."""

    def command(*jobs: Job, options: ActOptions) -> ExitCode:
        if bool(jobs) == bool(options.group):
            raise Failure("Name jobs, or --queue and --group.", "kilit groups lists the groups.", ExitCode.USAGE)
        of_group = {"queue": options.queue, "group": options.group}
        chosen = of_group if options.group else {"ids": [id_of(job, options.queue) for job in jobs]}
        answer = ask(verb, reason=options.reason, **chosen)
        show(answer, draw_outcome, as_json=options.json)
        return ExitCode.REFUSED if answer["unchanged"] else ExitCode.DONE

    command.__name__, command.__doc__ = verb, about
    return command


retry = act_on_jobs("retry", "Retry failed jobs.")
mark_failed = act_on_jobs("mark_failed", "Give jobs up that wait: they are not sent, and can be retried later.")
approve = act_on_jobs("approve", "Let cutting jobs on HOLD go on.")


def pause(queue: Queue = None, *, site: Site = None, reason: Reason, json: AsJson = False) -> None:
    """Pause a queue or a site: none of its jobs is started until it is resumed."""
    show(ask("pause", queue=queue, site=site, reason=reason), draw_outcome, as_json=json)


def resume(queue: Queue = None, *, site: Site = None, reason: Reason, json: AsJson = False) -> None:
    """Let a paused queue or site go on."""
    show(ask("resume", queue=queue, site=site, reason=reason), draw_outcome, as_json=json)


def id_of(job: str, queue: str | None) -> str:
    """Return the id of a job that was named by any text; the server refuses a text that several jobs have."""
    try:
        return str(UUID(job.rpartition("_")[2]))  # pages show seal_<uuid>
    except ValueError:
        return str(ask("explain", job=job, queue=queue)["job"]["id"])


def draw_problems(answer: JsonObject) -> Iterator[RenderableType]:
    for problem in answer["problems"]:
        where = ", ".join([*problem["where"], *([f"{number(problem['beyond'])} more"] if problem["beyond"] else [])])
        yield line(
            tint(f"● {problem['title']}", problem["severity"]),
            styled(problem["since"] and f"for {age(problem['since'])}", "dim"),
        )
        yield from below(problem["cause"], problem["advice"] and f"→ {problem['advice']}", styled(where, "dim"))
    if not answer["problems"]:
        yield tint("No problems.", "done")


def draw_jobs(answer: JsonObject) -> Iterator[RenderableType]:
    for job in answer["jobs"]:
        yield line(styled(job["name"], "bold"), tint(job["state_words"], job["state"]), job["error_words"])
        yield from below(line(job["id"], styled(line(job["queue"], job["belongs_to"], age(job["created_at"])), "dim")))
    if answer["more"]:
        yield "There are more: narrow the text, or use --limit."


def draw_explanation(answer: JsonObject) -> Iterator[RenderableType]:
    job, error = answer["job"], answer["error"] or {}
    yield from draw_jobs({"jobs": [job], "more": False})
    reasons = [blocker["sentence"] for blocker in answer["blockers"]]
    yield from below(styled(job["link"], "dim"), *reasons, *map(error.get, ("cause", "message", "advice")))
    if answer["actions"]:
        actions = [(tint(action["title"], action["allowed"] and "ready"), action["effect"], action["by"])
                   for action in answer["actions"]]  # fmt: skip
        yield table("May be done", "Effect", "By", rows=actions)
    steps = [
        (clock(step["at"]), line(*dict.fromkeys((step["sentence"], step["message"], step["error_message"]))))
        for step in answer["timeline"]
    ]
    yield table("When", "What happened", rows=steps)


def draw_groups(answer: JsonObject) -> Iterator[RenderableType]:
    for group in answer["groups"]:
        last = styled(f"{group['queue']}, last {age(group['last_at'])} ago", "dim")
        yield line(styled(number(group["count"]), "bold"), tint(group["words"], "failed"), last)
        options = f"--queue {group['queue']} --group {group['group']}"
        yield from below(group["message"], group["advice"] and f"→ {group['advice']}", styled(options, "dim"))


def draw_sites(answer: JsonObject) -> Iterator[RenderableType]:
    for health in answer["sites"]:
        counts = ", ".join(f"{number(count)} {state}" for state, count in health["counts"].items() if count)
        paused = f"Paused: {health['pause_reason']}" if health["is_paused"] else ""
        is_well = not (health["findings"] or paused)
        yield line(tint(f"● {health['name']}", "done" if is_well else "warning"), styled(health["site_id"], "dim"))
        yield from below(paused, *health["findings"], styled(counts, "dim"))


def draw_stats(answer: JsonObject) -> Iterator[RenderableType]:
    counted = ("Waiting", "Running", "Done", "Failed", "24 h well", "badly")
    rows = []
    for queue in answer["queues"]:
        live = [queue[name] for name in ("waiting", "in_progress", "done")]
        failed = tint(number(queue["failed"]), queue["failed"] and "failed")
        ended = queue["ended_well"], queue["ended_badly"]
        rows.append([queue["title"], *live, failed, *ended, age(queue["oldest_waiting_since"])])
    yield table("Queue", *counted, "Oldest", rows=rows, right=counted)
    for queue in answer["queues"]:
        if queue["is_paused"]:
            yield tint(f"{queue['title']}: paused by {queue['paused_by']}: {queue['pause_reason']}", "warning")


def draw_outcome(answer: JsonObject) -> Iterator[RenderableType]:
    yield tint(answer["message"], "done" if answer["changed"] else "warning")
    yield from below(*(line(row["id"], row["state"], row["why"]) for row in answer.get("unchanged", [])))


def draw_screen(address: str, stats: JsonObject, problems: JsonObject) -> Iterator[RenderableType]:
    workers = tint("workers run", "done") if stats["workers_running"] else tint("no worker runs", "failed")
    yield line(styled("Kilit", "bold"), styled(f"{address}  {datetime.now().astimezone():%H:%M:%S}", "dim"), workers)
    yield Text()
    yield from draw_stats(stats)
    yield Text()
    for problem in problems["problems"][:MOST_PROBLEMS]:
        yield tint(f"● {problem['title']}", problem["severity"])
    if (beyond := len(problems["problems"]) - MOST_PROBLEMS) > 0:
        yield f"… and {beyond} more: kilit problems"
    else:
        yield styled("kilit problems has causes and advice.", "dim")

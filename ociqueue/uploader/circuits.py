"""What an answer says about the account: circuits open on its faults and close when a probe passes."""

from collections.abc import Iterator, Sequence

from ociqueue.models import Circuit, Conversion, Credentials, Site
from ociqueue.models.encryption import Unreadable
from ociqueue.states import Category, SyncMethod
from ociqueue.uploader.results import GATES, Disposition, Outcome


def learn(
    site: Site, rows: Sequence[Conversion], outcomes: Sequence[Outcome], *, probe: Circuit | None, outage: bool
) -> list[str]:
    """Open and close what the answer asks for; return why the site has to rest, in words, or nothing."""
    notes = []
    tripped = set()
    for row, outcome in telling(rows, outcomes):
        for at, action in scope_of(site, row, outcome, outage=outage):
            if (at.pk, action) in tripped:
                continue
            tripped.add((at.pk, action))
            Circuit.objects.trip(
                at,
                action=action,
                code=outcome.code,
                category=outcome.category or Category.TRANSIENT,
                reason=outcome.message or outcome.code,
                retry_after=outcome.retry_after,
            )
            notes.append(f"{at}{f' ({action})' if action else ''} rests: {outcome.code}.")
    if probe and (site.pk, probe.action) not in tripped and passes(outcomes[0], probe):
        Circuit.objects.filter(pk=probe.pk).close()
    # The rest of a site goes on when only one of its conversion names is held back.
    return notes if (site.pk, Circuit.EVERY_ACTION) in tripped else []


def telling(rows: Sequence[Conversion], outcomes: Sequence[Outcome]) -> list[tuple[Conversion, Outcome]]:
    """Return the first row of each kind of outcome: two thousand rows usually say the same of the account."""
    found: dict[tuple[object, ...], tuple[Conversion, Outcome]] = {}
    for row, outcome in zip(rows, outcomes, strict=True):
        action = row.action if outcome.disposition == Disposition.GATE_ACTION else ""
        kind = (outcome.disposition, outcome.category, outcome.whole_request, outcome.everywhere, action)
        found.setdefault(kind, (row, outcome))
    return list(found.values())


def scope_of(site: Site, row: Conversion, outcome: Outcome, *, outage: bool) -> Iterator[tuple[Site, str]]:
    """Return the circuits that an outcome opens: none, a conversion name's, the site's, or those of several sites."""
    if outcome.disposition == Disposition.GATE_ACTION:
        yield site, row.action
    elif outcome.disposition == Disposition.GATE_ALL:
        yield from ((each, Circuit.EVERY_ACTION) for each in Site.objects.filter(sync_method=SyncMethod.API))
    elif outcome.disposition in GATES or stops(outcome, outage=outage):
        yield site, Circuit.EVERY_ACTION
        if outcome.everywhere:
            yield from ((each, Circuit.EVERY_ACTION) for each in sharing_project(site))


def stops(outcome: Outcome, *, outage: bool) -> bool:
    """Tell whether an answer stops the site: Google asked to wait, does not say what it minds, or is away."""
    if outcome.disposition != Disposition.RETRY:
        return False
    if outcome.category == Category.RATE_LIMIT:
        return True
    return outcome.whole_request and (outcome.category != Category.TRANSIENT or outage)


def passes(outcome: Outcome, probe: Circuit) -> bool:
    """Tell whether Google looked at the row itself, whatever it thought of it."""
    if outcome.disposition == Disposition.GATE_ACTION:
        return probe.action == Circuit.EVERY_ACTION  # the account works; only that action does not
    return outcome.disposition not in (*GATES, Disposition.UNSENT) and not outcome.whole_request


def sharing_project(site: Site) -> Iterator[Site]:
    """Return other sites that log in through the same project, whose limits they share."""
    logins = Credentials.objects.filter(site__sync_method=SyncMethod.API).select_related("site")
    clients = {}
    for login in logins:
        try:
            clients[login.site] = login.account().client_id
        except Unreadable:
            continue
    yield from (each for each, client in clients.items() if client == clients.get(site) and each != site)

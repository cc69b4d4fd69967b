"""What operators propose and owners save: the rules change only by an owner's hand."""

from contextlib import suppress

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from kilit.lock.audit import current_context
from kilit.lock.models import Activity, ActivityKind
from orchestrator.models import RulesProposal
from orchestrator.planning.rules import read_new_rules
from orchestrator.planning.rules_history import RulesChanged, RulesUnchanged, rules_file, save_rules, try_on_held_jobs
from orchestrator.states import JOBS


class AlreadyClosed(Exception):
    """Someone else has saved, declined or replaced the proposal."""


def open_proposals() -> QuerySet[RulesProposal]:
    return RulesProposal.objects.filter(closed_at=None).order_by("pk")


def propose_rules(content: str, *, based_on: str, reason: str) -> RulesProposal:
    """Store a valid new version for the owners, in place of an earlier one of the same person."""
    rules, file = read_new_rules(content.encode()), rules_file()
    if file.sha256 != based_on:
        raise RulesChanged
    if file.text == content:
        raise RulesUnchanged
    actor, tried = current_context().actor, try_on_held_jobs(rules)
    with transaction.atomic():
        open_proposals().filter(actor=actor).update(closed_at=Now())
        proposal = RulesProposal.objects.create(
            actor=actor,
            reason=reason,
            based_on=based_on,
            content=content,
            held_jobs=len(tried),
            released_jobs=sum(not each.error for each in tried),
        )
        _record("proposed", message=reason)
    return proposal


def accept(proposal: RulesProposal, *, based_on: str = "", **changes: str) -> None:
    """Save what was proposed, or what an owner made of it, if the rules are still those that it was made from."""
    with transaction.atomic():
        row = _locked(proposal)  # before the file is replaced, which no rollback undoes
        content, reason = changes.get("content", row.content), changes.get("reason", row.reason)
        version = None
        with suppress(RulesUnchanged):  # someone saved the same by hand
            version = save_rules(content.encode(), based_on=based_on or row.based_on, reason=reason)
        open_proposals().filter(pk=row.pk).update(closed_at=Now(), version=version)


def decline(proposal: RulesProposal) -> None:
    with transaction.atomic():
        open_proposals().filter(pk=_locked(proposal).pk).update(closed_at=Now())
        _record("declined", message=proposal.reason)


def _locked(proposal: RulesProposal) -> RulesProposal:
    row = open_proposals().select_for_update().filter(pk=proposal.pk).first()
    if row is None:
        raise AlreadyClosed
    return row


def _record(verb: str, *, message: str) -> None:
    name = rules_file().path.name
    Activity.objects.record(ActivityKind.RULES, verb, queue=JOBS.queue, object_name=name, message=message)

"""Who sees, starts and stops a bulk action, and who sees which activity."""

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import CharField, Q
from django.db.models.functions import Cast

from kilit.access.roles import is_owner
from kilit.batches.models import BulkAction
from kilit.batches.queues import queues
from kilit.batches.states import BULK_ACTIONS
from kilit.lock.models import ActivityKind


def visible_to(user: User | AnonymousUser) -> Q:
    if is_owner(user):
        return Q()
    seen = Q(asked_by=user.pk)
    for name, queue in queues.items():
        opts = queue.model._meta
        if user.has_perm(f"{opts.app_label}.view_{opts.model_name}"):
            scopes = queue.scopes_seen_by(user)
            seen |= Q(queue=name) if scopes is None else Q(queue=name, scopes__contained_by=scopes)
    return seen


def may_start(user: User | AnonymousUser, action: BulkAction) -> bool:
    """Only the user who asked: it is done in their name."""
    return user.pk == action.asked_by_id and queues[action.queue].may_act(user)


def may_cancel(user: User | AnonymousUser, action: BulkAction) -> bool:
    """The user who asked, and users who may act on all of its rows: it is stopped as a whole."""
    return user.pk == action.asked_by_id or (queues[action.queue].may_act(user) and _may_act_on_all(user, action))


def _may_act_on_all(user: User | AnonymousUser, action: BulkAction) -> bool:
    queue = queues[action.queue]
    operation = queue.operation(action.action)
    if not operation.scope:
        return True
    if action.scopes is None:  # its rows are still being recorded, and may be of any scope
        return is_owner(user)
    of_scopes = (queue.model.objects.filter(**{operation.scope: scope}) for scope in action.scopes)
    return all(operation.within_reach(rows, user).exists() for rows in of_scopes)


def activity_visible_to(user: User | AnonymousUser, *, site: str = "") -> Q:
    """Match what was done to rows that the user sees, and what the user did; owners see all, denied requests too.

    What was done to several sites at once is one row for those who see all, and one for each site for others, and for
    all when a site is asked for.
    """
    if is_owner(user):
        return Q() if site else Q(is_part=False)
    whole, scopes = _queues_seen_by(user)
    if site in scopes:
        return Q(scope=site)
    own_rows = Q(person=user.get_username(), is_part=False) & ~Q(kind=ActivityKind.DENIED)
    bulk = BulkAction.objects.filter(visible_to(user)).annotate(text=Cast("pk", CharField()))
    bulk_actions = Q(queue=BULK_ACTIONS.queue, is_part=False, object_id__in=bulk.values("text"))
    others = Q(queue__in=whole) | Q(scope__in=scopes) & ~Q(queue=BULK_ACTIONS.queue) | bulk_actions
    return own_rows | (others & ~Q(person=user.get_username()))


def _queues_seen_by(user: User | AnonymousUser) -> tuple[list[str], list[str]]:
    """Return the queues that a user sees as a whole, and the sites of the others."""
    whole, scopes = [], []
    for name, queue in queues.items():
        if queue.may_see(user):
            here = queue.scopes_seen_by(user)
            whole += [name] if here is None else []
            scopes += here or []
    return whole, scopes

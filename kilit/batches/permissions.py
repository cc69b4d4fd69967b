"""Who sees, starts and stops a bulk action."""

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Q

from kilit.access.roles import is_owner
from kilit.batches.models import BulkAction
from kilit.batches.queues import queues


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

"""Saves drafts and sends them. A draft is sent once: its row is locked, and its job is made in the same transaction."""

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now

from kilit.lock.audit import current_context
from orchestrator.drafts.typed import TypedOrder
from orchestrator.models import Job, OrderDraft
from orchestrator.orders.enqueue import enqueue, store_order_file
from orchestrator.planning.saws import refuse_uncuttable
from orchestrator.schemas.orders import InvalidOrder
from orchestrator.schemas.rules import Rules

LONGEST_ORDER_ID = 100


class DraftChanged(ValueError):
    """Another user changed or sent the draft since it was opened."""

    def __init__(self, draft: OrderDraft) -> None:
        super().__init__(f"draft {draft.pk} has changed")
        self.draft = draft


@transaction.atomic
def save_draft(
    pk: UUID, content: Mapping[str, object], *, based_on: datetime | None, upload: Mapping[str, object] | None = None
) -> tuple[OrderDraft, bool]:
    """Store what was typed, with the columns of the file that it comes from; return the draft and whether it is new.

    DraftChanged if it is no longer as the user saw it; a click sent twice has the same content, which is no change.
    """
    typed = TypedOrder(content)
    columns = {
        "order_id": typed.fields["order_id"][:LONGEST_ORDER_ID],
        "part_count": len(typed.numbers),
        "content": content,
        **(upload or {}),
    }
    drafts = OrderDraft.objects.select_for_update().defer("file_content")
    draft, is_new = drafts.get_or_create(pk=pk, defaults={"created_by": current_context().actor, **columns})
    is_same = draft.content == content and not upload
    if draft.job_id or not (is_new or is_same or draft.updated_at == based_on):
        raise DraftChanged(draft)
    if not is_new and not is_same:
        OrderDraft.objects.filter(pk=pk).update(**columns, updated_at=Now())
        draft.refresh_from_db(fields=["updated_at", *columns])
    return draft, is_new


@transaction.atomic
def send_draft(pk: UUID, rules: Rules) -> tuple[Job, bool]:
    """Send a draft, and return its job and whether that existed before. InvalidDraft if it is not an order yet.

    The draft's row is locked until the job is stored: a second click waits here and finds the job. Two drafts of the
    same order are the same job by its hash.
    """
    # Not joined with the job: after the wait the draft's row is read again, but a joined row is not.
    draft = OrderDraft.objects.select_for_update().get(pk=pk)
    if draft.job:
        return draft.job, True
    typed = TypedOrder(draft.content)
    order = typed.read(rules)
    try:
        job, is_known = enqueue(order, mode_is_given=typed.mode_is_given, check=partial(refuse_uncuttable, rules=rules))
    except InvalidOrder as invalid:
        raise typed.explain(invalid) from None
    if draft.file_content is not None:
        store_order_file(job, draft.file_name, bytes(draft.file_content), layout=draft.layout)
    sent = {"job": job, "sent_at": Now(), "sent_by": current_context().actor, "file_content": None}
    OrderDraft.objects.filter(pk=pk).update(**sent)
    return job, is_known

"""System checks of the queues' declarations: what is easily forgotten must be answered, be it with nothing."""

import re

from django.core.checks import CheckMessage, Error
from django.db.models import CharField, TextField

from kilit.batches.queues import Queue, queues

NAMES_OF_PEOPLE = re.compile(r"(^|_)(phone|e?mail|address|recipient|customer|person|contact|first_name|last_name)(_|$)")


def names_of_people(queue: Queue) -> list[str]:
    """Return text columns of a queue's rows that seem to name a person, and of which it says nothing."""
    declared = {name for text in queue.free_text or () if text.model is queue.model for name in text.columns}
    fields = [field for field in queue.model._meta.concrete_fields if isinstance(field, CharField | TextField)]
    names = [field.name for field in fields if not field.choices and NAMES_OF_PEOPLE.search(field.name)]
    return [name for name in names if name not in declared | {*queue.kept_names}]


def check_queues(**_: object) -> list[CheckMessage]:
    messages: list[CheckMessage] = []
    for name, queue in queues.items():
        if queue.free_text is None:
            text = f"The queue {name} does not say where its rows may name a person."
            hint = "Declare its free_text: columns from which people are erased, or () if there are none."
            messages.append(Error(text, hint=hint, id="kilit.E012"))
        if unread := names_of_people(queue):
            text = f"Columns of the queue {name} that seem to name people are not erased: {', '.join(unread)}."
            hint = "Add them to its free_text; or to kept_names, if they stay and the documentation says so."
            messages.append(Error(text, hint=hint, id="kilit.E016"))
        if queue.keeping is None:
            text = f"The queue {name} does not say how long finished rows are kept."
            hint = "Declare its keeping: FOREVER, UNTIL_PRUNED, or a function that returns the rows that may be pruned."
            messages.append(Error(text, hint=hint, id="kilit.E013"))
    return messages

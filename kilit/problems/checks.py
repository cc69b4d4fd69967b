"""System checks of the queues' declarations: what is easily forgotten must be answered, be it with nothing."""

from django.core.checks import CheckMessage, Error

from kilit.batches.queues import queues


def check_queues(**_: object) -> list[CheckMessage]:
    messages: list[CheckMessage] = []
    for name, queue in queues.items():
        if queue.free_text is None:
            text = f"The queue {name} does not say where its rows may name a person."
            hint = "Declare its free_text: columns from which people are erased, or () if there are none."
            messages.append(Error(text, hint=hint, id="kilit.E012"))
        if queue.keeping is None:
            text = f"The queue {name} does not say how long finished rows are kept."
            hint = "Declare its keeping: FOREVER, UNTIL_PRUNED, or a function that returns the rows that may be pruned."
            messages.append(Error(text, hint=hint, id="kilit.E013"))
    return messages

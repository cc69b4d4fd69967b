"""Errors of failed tasks, as django-q2 stores them: pickled, so that SQL cannot read them."""

import re

from django_q.models import Task

from kilit.lock.free_text import HIDDEN


def scrub(pattern: re.Pattern[str]) -> None:
    """Remove matches from errors, which may quote a row that the database refused."""
    for task in Task.objects.filter(success=False).only("pk", "result").iterator():
        error = str(task.result)
        if pattern.search(error):
            Task.objects.filter(pk=task.pk).update(result=pattern.sub(HIDDEN, error))

from functools import reduce
from operator import add

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, Coalesce


def number(name: str, column: str) -> Coalesce:
    return Coalesce(Cast(KT(f"{column}__{name}"), models.IntegerField()), 0)


def accounts_for_lines(column: str) -> models.Q:
    names = ("created", "corrected", "duplicates", "unchanged", "rejected_lines")
    results = [number(name, column) for name in names]
    return models.Q(line_count=number("lines", column)) & models.Q(line_count=reduce(add, results))


class Migration(migrations.Migration):
    """Not valid for imports that are stored already: those that do not add up are what the audit lists."""

    dependencies = [("ociqueue", "0007_say_temporary")]

    operations = [
        AddConstraintNotValid(
            model_name="importjob",
            constraint=models.CheckConstraint(
                condition=models.Q(models.Q(("status", state), _negated=True), accounts_for_lines(column), _connector="OR"),
                name=name,
            ),
        )
        for state, column, name in [
            ("READY", "checked", "ready_import_accounts_for_lines"),
            ("DONE", "counts", "done_import_accounts_for_lines"),
        ]
    ]

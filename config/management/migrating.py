"""`migrate` for `make up`, which shows how far it is."""

from typing import Any

from django.db import connections
from django.db.migrations.executor import MigrationExecutor

from config.local.screen import Step
from config.management.commands import migrate


class MigrateWithProgress(migrate.Command):
    def __init__(self, step: Step, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._step, self._done, self._total = step, 0, 0

    def handle(self, *args: Any, **options: Any) -> None:
        executor = MigrationExecutor(connections[options["database"]])
        self._total = len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
        super().handle(*args, **options)

    def migration_progress_callback(self, action: str, migration: Any = None, fake: bool = False) -> None:
        super().migration_progress_callback(action, migration, fake)
        if action == "apply_success":
            self._done += 1
            self._step.progress = f"{self._done} of {self._total} migrations"

"""`manage.py orchestrator_preflight`: look over folders, template, rules and commands."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from orchestrator.workflow.preflight import Level, preflight


class Command(BaseCommand):
    help = "Look over what cutting jobs need on this machine: folders, template, rules, OptiPlanning."

    def handle(self, *args: Any, **options: Any) -> None:
        checks = preflight()
        styles = {Level.PASS: self.style.SUCCESS, Level.WARN: self.style.WARNING, Level.FAIL: self.style.ERROR}
        for check in checks:
            self.stdout.write(f"{styles[check.level](check.level)}  {check.name}: {check.message}")
        if failed := [check.name for check in checks if check.level == Level.FAIL]:
            raise CommandError(f"Not ready: {', '.join(failed)}.")

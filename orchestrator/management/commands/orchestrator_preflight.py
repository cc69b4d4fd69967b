from django.core.management.base import BaseCommand, CommandError

from orchestrator.workflow.preflight import CheckLevel, preflight


class Command(BaseCommand):
    help = "Check what cutting jobs need on this machine: folders, template, rules, OptiPlanning."

    def handle(self, *args: object, **options: object) -> None:
        checks = preflight()
        styles = {
            CheckLevel.PASS: self.style.SUCCESS,
            CheckLevel.WARN: self.style.WARNING,
            CheckLevel.FAIL: self.style.ERROR,
            CheckLevel.SIMULATED: self.style.WARNING,
        }
        for check in checks:
            self.stdout.write(f"{styles[check.level](check.level)}  {check.name}: {check.message}")
        if failed := [check.name for check in checks if check.level == CheckLevel.FAIL]:
            raise CommandError(f"Not ready: {', '.join(failed)}.")

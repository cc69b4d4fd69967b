from datetime import timedelta

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ProblemsConfig(AppConfig):
    name = "kilit.problems"
    verbose_name = _("Operations")  # as in the side bar

    def ready(self) -> None:
        from kilit.lock.free_text import register_free_text  # noqa: PLC0415
        from kilit.lock.pruning import register_prunable  # noqa: PLC0415
        from kilit.problems import disk  # noqa: PLC0415
        from kilit.problems.models import ProblemRecord  # noqa: PLC0415
        from kilit.problems.registry import register_problems  # noqa: PLC0415
        from kilit.problems.tracking import track_problems  # noqa: PLC0415
        from kilit.workers.sweeps import register_sweep  # noqa: PLC0415

        register_problems(disk.find)
        register_free_text(ProblemRecord, "texts", "link", "mute_reason")
        register_prunable(ProblemRecord, finished=lambda: [ProblemRecord.objects.closed()])
        about = _("Looks for problems, and makes the alerts about them.")
        register_sweep("track_problems", every=timedelta(minutes=1), run=track_problems, about=about)

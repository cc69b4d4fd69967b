from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class BulkConfig(AppConfig):
    name = "kilit.bulk"
    verbose_name = _("Operations")  # as in the side bar

    def ready(self) -> None:
        from kilit.bulk import run  # noqa: PLC0415
        from kilit.bulk.models import BulkAction, objects_of  # noqa: PLC0415
        from kilit.lock.free_text import register_free_text  # noqa: PLC0415
        from kilit.workers.doorbells import register_doorbell  # noqa: PLC0415
        from kilit.workers.sweeps import register_sweep  # noqa: PLC0415

        texts = ("filters", "filters_text", "reason", "options", "error")
        register_free_text(BulkAction, *texts, repeated_at=objects_of)
        register_doorbell(run.BELL, due=lambda: [BulkAction.objects.due()], handler=run.handle_bell)
        about = _("Cancels bulk actions that were not confirmed in time, and deletes old results.")
        register_sweep("bulk_actions_tidy", every=timedelta(hours=1), run=run.tidy, about=about)

from datetime import timedelta

from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_in
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class AccessConfig(AppConfig):
    name = "kilit.access"
    verbose_name = _("Operations")  # as in the side bar

    def ready(self) -> None:
        from kilit.access import lockout, roles, second_factor, sessions  # noqa: PLC0415
        from kilit.access.encryption import register_reencryption  # noqa: PLC0415
        from kilit.access.models import LoggedChange  # noqa: PLC0415
        from kilit.access.models.denied_request import forget_denied_requests  # noqa: PLC0415
        from kilit.lock.free_text import register_free_text, register_scrubber  # noqa: PLC0415
        from kilit.workers.sweeps import register_sweep  # noqa: PLC0415

        register_free_text(LoggedChange, "change_message", "object_repr")
        register_scrubber(sessions.scrub)
        register_reencryption(second_factor.reencrypt_second_factors)
        post_migrate.connect(roles.grant, dispatch_uid="kilit.access.roles")
        user_logged_in.connect(lockout.record_login, dispatch_uid="kilit.access.logins")
        about = _("Deletes denied requests older than the retention period.")
        register_sweep("forget_denied_requests", every=timedelta(days=1), run=forget_denied_requests, about=about)
        about = _("Deletes failed logins and wrong guesses of links that no longer count.")
        register_sweep("forget_login_attempts", every=timedelta(hours=1), run=lockout.forget_attempts, about=about)
        about, every = _("Deletes sessions that have expired."), timedelta(hours=1)
        due = sessions.expired
        register_sweep("forget_sessions", every=every, run=sessions.forget_expired, about=about, due=lambda: [due()])

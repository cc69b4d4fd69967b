"""The sweeps, signals and secrets of access."""

from datetime import timedelta

from django.contrib.auth.signals import user_logged_in, user_login_failed
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _

from kilit.access import lockout, roles, second_factor, sessions
from kilit.access.encryption import register_reencryption
from kilit.access.models import DeniedRequest, LoggedChange
from kilit.access.models.denied_request import forget_denied_requests
from kilit.lock.free_text import FreeText, register_free_texts, register_scrubber
from kilit.workers.sweeps import Sweep, register_sweeps

register_free_texts(FreeText(LoggedChange, ("change_message", "object_repr")))
register_scrubber(sessions.scrub)
register_reencryption(second_factor.reencrypt_second_factors)
post_migrate.connect(roles.grant, dispatch_uid="kilit.access.roles")
user_logged_in.connect(lockout.record_login, dispatch_uid="kilit.access.logins")
user_logged_in.connect(lockout.note_login, dispatch_uid="kilit.access.lockout")
user_login_failed.connect(lockout.count_failed_login, dispatch_uid="kilit.access.lockout")
register_sweeps(
    Sweep(
        "forget_denied_requests",
        every=timedelta(days=1),
        run=forget_denied_requests,
        about=_("Deletes denied requests older than the retention period."),
        preview=lambda: f"Would delete {DeniedRequest.objects.old().count()}.",
    ),
    Sweep(
        "forget_login_attempts",
        every=timedelta(hours=1),
        run=lockout.forget_attempts,
        about=_("Deletes failed logins and wrong guesses of links that no longer count."),
    ),
    Sweep(
        "forget_sessions",
        every=timedelta(hours=1),
        run=sessions.forget_expired,
        about=_("Deletes sessions that have expired."),
        due=lambda: [sessions.expired()],
    ),
)

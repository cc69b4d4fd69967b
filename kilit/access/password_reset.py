"""Password resets by e-mail: who gets a link, how often, and who sends it.

A request is answered before anyone looks for its address: whether it belongs to a user shows neither in the answer nor
in its time, and a mail server that hangs does not hold the web server's threads. A mail that is lost with its process
is requested again by its user.
"""

import logging
from datetime import timedelta
from functools import partial
from threading import BoundedSemaphore, Thread
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.forms import PasswordResetForm
from django.contrib.auth.models import User
from django.core.mail import EmailMessage
from django.db import connections
from django.template.loader import render_to_string
from django.utils.translation import get_language, override

from kilit.access.lockout import network_of, record_password_reset, unlock
from kilit.access.models.login_window import LoginWindow, window_name
from kilit.postgres.collation import fold, is_same_text
from kilit.spans import format_span

logger = logging.getLogger("kilit.access")

SENDERS = BoundedSemaphore(4)  # of one process; more only wait for a mail server that hangs


def may_reset(user: User) -> bool:
    """Return whether a user logs in to the console with a password: services and the users of keys do not."""
    return user.is_active and user.is_staff and user.has_usable_password()


class LinkRequestForm(PasswordResetForm):
    """Django's form, which makes the links; of several users with the address, each gets one at the address it has."""

    def get_users(self, email: str) -> list[User]:
        return [user for user in User.objects.filter(is_same_text("email", email)) if may_reset(user)]

    def send_mail(
        self,
        subject_template_name: str,
        email_template_name: str,
        context: dict[str, object],
        *args: object,
        **options: object,
    ) -> None:
        subject = "".join(render_to_string(subject_template_name, context).splitlines())
        body = render_to_string(email_template_name, context)
        headers = {"Auto-Submitted": "auto-generated"}
        EmailMessage(subject, body, to=[str(context["email"])], headers=headers).send()


def seconds_to_wait_for_reset(email: str, address: str) -> int:
    """Count a request by the client's address and by the e-mail address; return how long it has to wait, or 0.

    Every e-mail address counts, known or not: the answer must not depend on it.
    """
    limits = {
        window_name("reset-from", network_of(address)): settings.LOGIN_TRIES_PER_ADDRESS,
        window_name("reset-for", fold(email)): settings.LOGIN_TRIES,
    }
    window: timedelta = settings.LOCKOUT_TIME
    for name, limit in limits.items():
        if not LoginWindow.objects.count_below(name, limit=limit, window=window):
            row = LoginWindow.objects.with_age([name]).first()
            left = window - row.age if row else timedelta()
            return max(1, int(left.total_seconds()) + 1)
    return 0


def send_links(form: LinkRequestForm) -> bool:
    """Send the links of an address in a thread; return False if too many are on their way."""
    if not SENDERS.acquire(blocking=False):
        logger.error("password resets wait for the mail server; one more was refused")
        return False
    Thread(target=partial(_send, form, get_language()), name="password-reset", daemon=True).start()
    return True


def _send(form: LinkRequestForm, language: str | None) -> None:
    try:
        with override(language):
            save_and_mail(form)
    except Exception as error:  # noqa: BLE001 - nobody waits for it, and texts of libraries may contain the password
        logger.error("a password reset could not be sent: %s", type(error).__name__)
    finally:
        connections.close_all()
        SENDERS.release()


def save_and_mail(form: LinkRequestForm) -> None:
    """Make and mail the links; they begin with our own address, never with the host that a request named."""
    public = urlsplit(settings.PUBLIC_URL)
    form.save(
        domain_override=public.netloc,
        use_https=public.scheme == "https",
        subject_template_name="admin/password_reset_subject.txt",
        email_template_name="admin/password_reset_mail.txt",
        extra_email_context={
            "public_url": settings.PUBLIC_URL,
            "valid_for": format_span(timedelta(seconds=settings.PASSWORD_RESET_TIMEOUT)),
        },
    )


def note_reset(user: User) -> None:
    """Record a reset, and end the lockout of the name: its owner has shown to be the owner."""
    record_password_reset(user)
    unlock(user.get_username())

"""What an installation has not set up, with the setting that is missing and its place."""

from django.conf import settings
from django.utils.translation import gettext as _


def unset_mail() -> str:
    if settings.EMAIL_HOST:
        return ""
    return _("E-mail is not set up.") + " " + _place("EMAIL_URL")


def unset_second_factor() -> str:
    if settings.SECOND_FACTOR != "off":
        return ""
    return _("Two-factor authentication is switched off.") + " " + _place("KILIT_SECOND_FACTOR")


def _place(name: str) -> str:
    text = _("Set %(name)s in the server's environment, or in the file .env beside manage.py, and restart it.")
    return text % {"name": name}

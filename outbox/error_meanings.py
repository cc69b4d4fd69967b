"""Error codes of messages in words."""

from django.utils.translation import gettext_lazy as _

from kilit.outgoing.results import PostError

# By error code, besides those of a POST.
MEANINGS = {
    "SECRET_UNREADABLE": _("The endpoint's secret cannot be decrypted. Rotate it."),
    "WORKER_LOST": _("The worker that sent it stopped."),
    "EXPIRED": _("It waited too long for an endpoint that is switched off."),
    "MARKED_FAILED": _("An operator marked it failed."),
}


def explain_code(code: str) -> str:
    if code in PostError.values:
        return str(PostError(code).label)
    return str(MEANINGS.get(code, ""))

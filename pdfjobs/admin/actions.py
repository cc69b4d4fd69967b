"""The actions of an operator on PDF jobs: Retry and Expire."""

from django.utils.translation import gettext_lazy as _

from kilit.console.actions import Action
from pdfjobs import operations

RETRY = Action(
    operations.RETRY,
    title=_("Retry"),
    done=_("Retried"),
    effect=_(
        "They are queued again with two retries. A job is skipped if the same document was requested again in the "
        "meantime."
    ),
    icon="replay",
)
EXPIRE = Action(
    operations.EXPIRE,
    title=_("Expire"),
    done=_("Expired"),
    effect=_("Their files and variables are deleted permanently. A new request for the document creates a new job."),
    icon="delete_forever",
    is_dangerous=True,
)

"""What is known of an error code: one entry for each, and everything that advises reads it.

The texts are English, as the API gives them; `gettext_noop` marks them, and the console translates them.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Self

from django.db.models import TextChoices
from django.utils import timezone
from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_lazy, gettext_noop

from kilit.spans import moment

# Operations that try again.
TRY_AGAIN = ("retry", "reset", "approve")


class WhoseTurn(TextChoices):
    """Who has to do something before a row can go on."""

    KILIT = "kilit", gettext_lazy("Kilit: it goes on by itself, or with a new version")
    OPERATOR = "operator", gettext_lazy("an operator")
    ADMIN = "admin", gettext_lazy("an administrator")
    CUSTOMER = "customer", gettext_lazy("the customer or their system")
    GOOGLE = "google", gettext_lazy("Google")
    NOBODY = "nobody", gettext_lazy("no one: there is nothing to do")


@dataclass(frozen=True)
class ErrorEntry:
    """What happened and what helps. Ways on have names: of an operation of the queue, or of a step that it declares."""

    words: str  # a short label
    cause: str = ""  # a sentence
    advice: str = ""  # what to do
    turn: WhoseTurn = WhoseTurn.OPERATOR
    # The first of these that is possible now is offered, on a row's page and for a group; none if nothing helps.
    row: tuple[str, ...] = ()
    group: tuple[str, ...] = ()
    is_final: bool = False  # no attempt can succeed, whatever is fixed: no list offers one
    is_question: bool = False  # the ways on are answers, of equal rank
    then: str = ""  # a sentence about the attempt after that
    not_before: datetime | None = None  # when the other side allows another attempt

    @property
    def label(self) -> str:
        return capfirst(gettext(self.words))

    @property
    def hint(self) -> str:
        """Return cause and advice in English."""
        return " ".join(filter(None, (self.cause, self.advice, self.then)))

    @property
    def is_expected(self) -> bool:
        return self.turn == WhoseTurn.NOBODY

    def sentences(self) -> list[str]:
        """Return cause and advice in the reader's language."""
        said = [gettext(text) for text in (self.cause, self.advice, self.then) if text]
        return [*said, gettext("Not before %(time)s.") % {"time": moment(self.not_before)}] if self.not_before else said

    def until(self, time: datetime | None) -> Self:
        """Return it as of now: before that time nothing helps."""
        return replace(self, row=(), group=(), not_before=time) if time and time > timezone.now() else self


# Of codes that a queue does not declare.
UNKNOWN = ErrorEntry(
    gettext_noop("Failed"), advice=gettext_noop("Fix the cause, then retry."), row=("retry",), group=("retry",)
)

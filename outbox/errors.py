"""The error codes of messages: one entry for each. Steps: "switch_on", which retries too, and "endpoint", its page."""

from enum import StrEnum
from functools import partial

from django.utils.translation import gettext_noop as _

from kilit.batches.error_entries import ErrorEntry, WhoseTurn
from kilit.outgoing.results import PostError
from kilit.sentences import sentence


class AlertError(StrEnum):
    """What may be wrong with a message to a channel."""

    ADDRESS_UNREADABLE = "ADDRESS_UNREADABLE"
    ADDRESS_INVALID = "ADDRESS_INVALID"
    TIMEOUT = "TIMEOUT"
    UNREACHABLE = "UNREACHABLE"
    REJECTED = "REJECTED"
    LOGIN_FAILED = "LOGIN_FAILED"
    FAILED = "FAILED"


REPEAT = _("Fix the cause at the receiver, then retry. It is sent under the same id.")
CHANGE_URL = _("Change the endpoint's URL, then retry.")
receiver = partial(ErrorEntry, turn=WhoseTurn.CUSTOMER, row=("switch_on", "retry"), group=("switch_on", "retry"))
address = partial(ErrorEntry, row=("endpoint",))
channel = partial(ErrorEntry, turn=WhoseTurn.ADMIN, row=("retry",), group=("retry",))

ERRORS: dict[str, ErrorEntry] = {
    PostError.INVALID_URL: address(_("Invalid URL"), _("The URL is not valid."), CHANGE_URL),
    PostError.NAME_NOT_RESOLVED: receiver(_("Unknown host"), _("The host name could not be resolved."), REPEAT),
    PostError.ADDRESS_NOT_ALLOWED: address(
        _("Private address"), _("The host is in a private network, which is not allowed."), CHANGE_URL
    ),
    PostError.CONNECTION_FAILED: receiver(
        _("Not reachable"), _("The receiver could not be reached, or closed the connection."), REPEAT
    ),
    PostError.TLS_FAILED: receiver(
        _("No secure connection"),
        _("The receiver does not speak TLS, or its certificate is not valid for its name."),
        REPEAT,
    ),
    PostError.TIMED_OUT: receiver(_("No answer in time"), _("The receiver did not answer in time."), REPEAT),
    PostError.INVALID_RESPONSE: receiver(_("Invalid answer"), _("The receiver's answer is not valid HTTP."), REPEAT),
    PostError.REDIRECTED: address(
        _("Redirected"), _("The receiver redirects to another URL; redirects are not followed."), CHANGE_URL
    ),
    PostError.GONE: receiver(_("Not wanted"), _("The receiver answered 410: it wants no more messages."), REPEAT),
    PostError.RATE_LIMITED: receiver(
        _("Too many requests"), _("The receiver answered 429: too many requests."), _("Retry later.")
    ),
    PostError.HTTP_4XX: receiver(_("Rejected"), _("The receiver rejected the message."), REPEAT),
    PostError.HTTP_5XX: receiver(_("Receiver failed"), _("The receiver failed to process the message."), REPEAT),
    "SECRET_UNREADABLE": address(
        _("Unreadable secret"), _("The endpoint's secret cannot be decrypted."), _("Rotate it, then retry.")
    ),
    "WORKER_LOST": receiver(
        _("Worker lost"), _("The worker that sent it stopped."), _("Retry."), turn=WhoseTurn.OPERATOR
    ),
    "EXPIRED": receiver(
        _("Waited too long"),
        _("It waited too long for an endpoint that is switched off."),
        _("Switch the endpoint on, then retry. It is sent under the same id."),
    ),
    "MARKED_FAILED": ErrorEntry(
        _("Ended by an operator"), _("An operator marked it failed."), turn=WhoseTurn.NOBODY, row=("retry",)
    ),
    AlertError.ADDRESS_UNREADABLE: channel(
        _("Unreadable address"), _("The channel's address cannot be decrypted."), _("Enter it again, then retry.")
    ),
    AlertError.ADDRESS_INVALID: channel(
        _("Invalid address"), _("The channel's address is not valid any more."), _("Enter it again, then retry.")
    ),
    AlertError.TIMEOUT: channel(_("No answer in time"), _("The channel did not answer in time."), _("Retry.")),
    AlertError.UNREACHABLE: channel(
        _("Not reachable"), _("The channel's server could not be reached."), _("Retry when it can be reached.")
    ),
    AlertError.REJECTED: channel(
        _("Rejected"), _("The channel's server rejected the message."), _("Check the channel's address, then retry.")
    ),
    AlertError.LOGIN_FAILED: channel(
        _("Login failed"), _("The mail server rejected the login."), _("Correct Kilit's mail settings, then retry.")
    ),
    AlertError.FAILED: channel(_("Not sent"), _("The message could not be sent."), _("See the log, then retry.")),
}

STORED_CAUSES = {"": "", **{code: sentence(f"MESSAGE_{code}", entry.cause).stored for code, entry in ERRORS.items()}}

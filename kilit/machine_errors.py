"""Errors of machines in people's words; the raw text is folded below them."""

import re
from typing import TYPE_CHECKING

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kilit.sentences import english, translated

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

# What no person writes: the name of a class, an address in memory, an error number, what libraries say of themselves.
RAW = re.compile(
    r"\b[A-Za-z]*[a-z](?:Error|Exception|Timeout|Expired)\b|\w+ConnectionPool\("
    r"|\[Errno |\[WinError |^Traceback |0x[0-9a-f]{6}"
    r"|net::ERR_|BrowserType\.|\bPage\.\w+:|Protocol error \(|Target (?:page|closed|crashed)"
    r"|when calling the \w+ operation|endpoint URL|locate credentials"
    r"|\(-2147\d{6},|not well-formed|no element found|mismatched tag|unclosed token"
)
UNREACHABLE = (
    r"connectionpool|connection\w*error|newconnection|name or service|urlerror|unreachable|getaddrinfo"
    r"|connection (?:refused|reset|aborted)|no route to host|err_connection|err_name|remotedisconnected"
)
# The first that is found in a raw text says what happened.
MEANINGS: list[tuple[re.Pattern[str], "StrOrPromise"]] = [
    (re.compile(pattern, re.IGNORECASE), sentence)
    for pattern, sentence in (
        (r"deadlock|serializationfailure", gettext_lazy("Two processes changed the same rows at once.")),
        (r"operationalerror|interfaceerror|psycopg", gettext_lazy("The database did not answer.")),
        (r"integrityerror|dataerror|programmingerror", gettext_lazy("The database rejected a change.")),
        (r"\(-2147\d{6},", gettext_lazy("Excel reported an error.")),
        (
            r"not well-formed|no element found|mismatched tag|unclosed token",
            gettext_lazy("The XML file is damaged or incomplete."),
        ),
        (r"browsertype\.|chromium did not start", gettext_lazy("The browser that renders PDFs did not start.")),
        (
            r"target (?:page|closed|crashed)|browser has been closed",
            gettext_lazy("The browser stopped while it rendered the document."),
        ),
        (
            r"when calling the|endpoint url|locate credentials",
            gettext_lazy("The file storage rejected the request or could not be reached."),
        ),
        (r"ssl|certificate", gettext_lazy("No secure connection to the other server could be made.")),
        (r"timeout|timed out|errno 110", gettext_lazy("The other side did not answer in time.")),
        (UNREACHABLE, gettext_lazy("The other server could not be reached.")),
        (r"net::err_|page\.\w+:|protocol error", gettext_lazy("The browser could not render the document.")),
        (r"permissionerror|errno 13\b|access is denied", gettext_lazy("Access to a file or folder was denied.")),
        (r"filenotfounderror|errno 2\b|no such file", gettext_lazy("A file or folder does not exist.")),
        (r"errno 28|no space left", gettext_lazy("The disk is full.")),
        (
            r"errno (?:5|30|112|116)\b|input/output error|read-only file|stale file|host is down|winerror (?:53|64)\b",
            gettext_lazy("A disk or network folder cannot be used."),
        ),
        (r"memoryerror|errno 12\b", gettext_lazy("There was not enough memory.")),
        (r"unicode\w*error|jsondecodeerror|parseerror", gettext_lazy("A file or an answer could not be read.")),
    )
]
UNEXPECTED = gettext_lazy("An unexpected error occurred in the program.")


def explain(text: str) -> str:
    """Return what a machine's error means, or the text itself when a person can read it, in the active language."""
    if not RAW.search(english(text)):
        return translated(text)
    return str(next((sentence for pattern, sentence in MEANINGS if pattern.search(text)), UNEXPECTED))


def in_words(text: str) -> SafeString:
    sentence, text = explain(text), english(text)
    if not RAW.search(text):
        return escape(sentence)
    return format_html(
        '<span>{}</span><details class="kilit-raw"><summary>{}</summary><pre>{}</pre></details>',
        sentence,
        _("Technical details"),
        text,
    )

"""Errors of machines are in people's words; their raw text is folded below."""

import re

import pytest
from django.db.models.functions import Now

from kilit.lock.models import ErrorGroup
from kilit.machine_errors import explain, in_words
from kilit.workers.models import SweepRun
from tests.support.conversions import make_failed
from tests.support.dashboard import make_site

POOL = "HTTPSConnectionPool(host='oauth2.googleapis.com', port=443): Max retries exceeded with url: /token"
FOLDED = re.compile(r'<details class="kilit-raw">.*?</details>', re.DOTALL)


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (POOL, "The other server could not be reached."),
        ("ReadTimeout", "The other side did not answer in time."),
        ("OperationalError: connection to server failed: FATAL", "The database did not answer."),
        ("The upload failed with ConnectionResetError.", "The other server could not be reached."),
        ("PermissionError: [Errno 13] Permission denied: '/saw'", "Access to a file or folder was denied."),
        ("no connection ([Errno 111] Connection refused).", "The other server could not be reached."),
        ("Chromium did not start: BrowserType.launch: spawn EACCES", "The browser that renders PDFs did not start."),
        ("Page.pdf: Target crashed", "The browser stopped while it rendered the document."),
        ("Page.set_content: net::ERR_FAILED", "The browser could not render the document."),
        (
            "The PDF could not be stored: An error occurred (NoSuchBucket) when calling the PutObject operation",
            "The file storage rejected the request or could not be reached.",
        ),
        ("Excel: (-2147352567, 'Exception occurred.', None, None)", "Excel reported an error."),
        ("line 1: not well-formed (invalid token)", "The XML file is damaged or incomplete."),
        ("OSError: [Errno 112] Host is down: '/mnt/saw'", "A disk or network folder cannot be used."),
        ("KeyError: 'x'", "An unexpected error occurred in the program."),
    ],
)
def test_a_raw_error_is_explained(raw, sentence) -> None:
    assert explain(raw) == sentence
    assert sentence in in_words(raw)
    assert re.sub(r"\W", "", raw)[:12] in re.sub(r"&#x27;|\W", "", FOLDED.search(in_words(raw))[0])


@pytest.mark.parametrize(
    "text", ["", "Part g1: fix it.", "UPLOAD_EXCEPTION: Google did not answer.", "The error is 5."]
)
def test_a_sentence_stays_as_it_is(text) -> None:
    assert in_words(text) == text


def test_raw_text_is_escaped() -> None:
    assert "<script>" not in in_words("ValueError: <script>")


@pytest.mark.django_db
def test_no_page_shows_a_raw_error_unfolded(admin_client) -> None:
    site = make_site("Ege")
    (row,) = make_failed(site, code="UPLOAD_EXCEPTION", category="TRANSIENT", message=POOL)
    ErrorGroup.objects.fold()
    SweepRun.note(
        "oci_attempt_cap",
        taken_at=Now(),
        started_at=Now(),
        finished_at=Now(),
        succeeded=False,
        result=f"ConnectionError: {POOL}",
    )
    pages = [
        "/admin/",
        "/admin/workers/",
        "/admin/ociqueue/conversion/",
        "/admin/ociqueue/conversion/groups/",
        f"/admin/ociqueue/conversion/{row.pk}/change/",
    ]

    for address in pages:
        shown = admin_client.get(address).text
        assert "ConnectionPool" not in FOLDED.sub("", shown), address
        assert "The other server could not be reached." in shown, address

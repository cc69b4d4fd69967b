"""Security headers of every response: no foreign scripts, no frames, no sniffing, no sensors."""

import pytest
from django.test import Client
from django.urls import reverse

from config.web.csp import STYLE_BLOCK, own_styles, page_policy
from kilit.access.models import ApiKey
from pdfjobs.models import PdfJob
from tests.support.fixtures.pdf_jobs import _own_store  # noqa: F401 - a store of the test's own
from tests.support.pdf_jobs import bring, new_job, some_user
from tests.support.people import make_user
from tests.support.second_factors import PASSWORD, enter_password

pytestmark = pytest.mark.django_db

ADDRESSES = ["/", "/admin/", "/admin/login/", "/healthz", "/metrics", "/jobs", "/api/schema/", "/nothing", "/a%00b"]
LIST = "/admin/ociqueue/conversion/"
ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def directives(policy: str) -> dict[str, set[str]]:
    return {words.split()[0]: set(words.split()[1:]) for words in policy.split(";")}


@pytest.mark.parametrize("address", ADDRESSES)
def test_every_answer_has_its_policies(address: str) -> None:
    answer = Client().get(address)
    policy = directives(answer.headers["Content-Security-Policy"])

    assert policy["default-src"] == {"'none'"}
    assert policy["frame-ancestors"] == {"'none'"}
    assert "camera=()" in answer.headers["Permissions-Policy"]
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"


@pytest.mark.parametrize("address", ["/admin/login/", "/jobs", "/nothing"])
def test_every_answer_has_djangos_own_headers(address: str) -> None:
    answer = Client().get(address)

    assert ALWAYS.items() <= dict(answer.headers).items()
    assert answer.headers["X-Frame-Options"] == "DENY"


def test_answers_that_are_no_pages_may_do_nothing_at_all() -> None:
    assert Client().get("/jobs").headers["Content-Security-Policy"] == "default-src 'none'; frame-ancestors 'none'"


def test_the_policy_of_pages_allows_no_inline_script_and_no_other_origin() -> None:
    policy = directives(page_policy())

    assert policy["script-src"] == {"'self'", "'unsafe-eval'"}
    assert "'unsafe-inline'" not in policy["style-src"]
    assert [each for each in policy["style-src"] if each.startswith("'sha256-")]
    assert policy["base-uri"] == {"'none'"}
    assert policy["form-action"] == {"'self'"}
    elsewhere = {word for words in policy.values() for word in words if ":" in word} - {"data:"}
    assert elsewhere == set()


def test_the_hashes_are_of_the_styles_that_pages_come_with(admin_client) -> None:
    pages = [admin_client.get(address).content.decode() for address in ("/admin/", LIST, "/api/docs/")]

    assert {style for page in pages for style in STYLE_BLOCK.findall(page)} == set(own_styles())


def test_a_pdf_is_framed_by_our_own_pages_alone(admin_client) -> None:
    job = bring(new_job(), "succeeded")
    key = ApiKey.objects.issue(some_user(), name="test")[1]

    shown = admin_client.get(reverse("admin:pdfjobs_pdfjob_file", args=[job.pk]))
    fetched = Client(headers={"x-api-key": key}).get(reverse("pdf-download", args=[job.pk]))

    assert PdfJob.objects.get().status == "succeeded"
    assert directives(shown.headers["Content-Security-Policy"])["frame-ancestors"] == {"'self'"}
    assert directives(fetched.headers["Content-Security-Policy"])["frame-ancestors"] == {"'none'"}
    for answer in (shown, fetched):
        answer.getvalue()  # reads the file to its end, and closes it
        assert answer.headers["Content-Type"] == "application/pdf"
        assert "script-src" not in answer.headers["Content-Security-Policy"]


def test_sessions_are_out_of_reach_of_scripts_and_other_sites(client) -> None:
    make_user(password=PASSWORD)

    enter_password(client)

    cookie = client.cookies["sessionid"]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
    assert int(cookie["max-age"]) <= 12 * 3600


def test_a_login_gets_a_session_of_its_own_and_a_logout_ends_it(client) -> None:
    make_user(password=PASSWORD)
    client.get("/admin/login/")
    client.session.save()
    planted = client.cookies.get("sessionid")

    enter_password(client)
    given = client.cookies["sessionid"].value
    assert planted is None or planted.value != given
    assert client.get("/admin/").status_code == 200

    client.post("/admin/logout/")
    thief = Client()
    thief.cookies["sessionid"] = given
    assert thief.get("/admin/").status_code == 302


def test_a_changed_password_ends_every_other_session(admin_client, admin_user) -> None:
    assert admin_client.get("/admin/").status_code == 200

    admin_user.set_password("another long one")
    admin_user.save()

    assert admin_client.get("/admin/").status_code == 302

"""Phone numbers in the texts of errors: complete on the job's own page, masked everywhere else."""

import pytest

from kilit.batches.models import BulkAction
from kilit.masking import mask_personal_data
from orchestrator.errors import Code
from tests.support.cutting_jobs import LIST, failed, held

pytestmark = pytest.mark.django_db

SENTENCE = "No customer has the phone +905551234567."
WHOLE = ("5551234567", "555 123 45 67", "555%20123")


def text_of(client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, address
    return b"".join(answer.streaming_content).decode() if answer.streaming else answer.text


@pytest.mark.parametrize("role", ["viewer", "operator", "admin", "owner"])
def test_no_page_but_the_jobs_own_shows_a_whole_phone(role, make_person) -> None:
    stopped, waiting = failed(Code.CRM_NO_MATCH, SENTENCE), held(message=SENTENCE, order_id="S-2")
    client = make_person(role=role)
    pages = ["/admin/", LIST, f"{LIST}?status=HOLD", f"{LIST}groups/"]
    if role != "viewer":
        pages += [f"{LIST}{waiting.pk}/approve/", f"{LIST}all/retry/?status=FAILED"]

    for address in pages:
        shown = text_of(client, address)
        assert not [phone for phone in WHOLE if phone in shown], address

    assert "No customer has the phone …4567." in text_of(client, LIST)
    assert SENTENCE in text_of(client, f"{LIST}{stopped.pk}/change/")


def test_viewers_export_masked_phones_and_operators_whole_ones(make_person) -> None:
    failed(Code.CRM_NO_MATCH, SENTENCE)

    seen, worked_with = (
        text_of(make_person(role, role=role), f"{LIST}dead-letters/?status=FAILED") for role in ("viewer", "operator")
    )

    assert "…4567,,A" in seen
    assert "No customer has the phone …4567." in seen
    assert "5551234567" not in seen
    assert SENTENCE in worked_with


def test_a_bulk_action_by_phone_masks_its_filter(make_person) -> None:
    held(message=SENTENCE)
    client = make_person()

    answer = client.post(f"{LIST}all/approve/?q=0555 123 45 67", {"reason": "because"})

    action = BulkAction.objects.get()
    assert answer.url == f"/admin/bulk/bulkaction/{action.pk}/change/"
    for address in (answer.url, "/admin/lock/activity/", f"{answer.url.removesuffix('change/')}results/"):
        assert "123 45 67" not in text_of(client, address), address


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (SENTENCE, "No customer has the phone …4567."),
        ("Call 0 (555) 123-45-67 or +49 30 901820.", "Call …4567 or …1820."),
        ("2026-11-16 06:18:45: part 12345678 of order 123-456-7890", None),
        ("id 019a8b2c-5551-7abc-8def-0123456789ab at 10.20.30.40:5432", None),
        ("ayse.yilmaz@example.com is unknown", "a…@example.com is unknown"),
        ("", None),
    ],
)
def test_only_personal_data_is_masked(text, masked) -> None:
    assert mask_personal_data(text) == (masked or text)

"""Sheets in the console: each becomes a draft that can be looked at, whatever is wrong with it."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from orchestrator.admin.sheet_import import ORIGINS
from orchestrator.models import Job, OrderDraft
from orchestrator.sheets.sheet_order import Origin
from orchestrator.sheets.template import template_csv
from tests.support.order_sheets import KITCHEN, xlsx

pytestmark = pytest.mark.django_db

SHEETS = {
    "a list": xlsx(*KITCHEN),
    "the template": template_csv(),
    "faults in the head": xlsx(["18MM", "Plaka: büyük", "Revizyon: x"], ["5MM"], [None, 720, "1.205", 1, 9, "9mm"]),
    "faults in every cell": xlsx(["18MM"], [None, 720, 560, 1], ["ARKALIK", "=1+1", "1.205", 0, 9, "9mm", "x"]),
}


@pytest.mark.parametrize("content", SHEETS.values(), ids=SHEETS)
def test_a_sheet_becomes_a_draft(make_person, content) -> None:
    operator = make_person()

    answer = operator.post(
        "/admin/orchestrator/orderdraft/import/", {"file": SimpleUploadedFile("mutfak-12.xlsx", content)}, follow=True
    )

    assert answer.status_code == 200
    assert (OrderDraft.objects.count(), Job.objects.count()) == (1, 0)


def test_every_origin_has_words() -> None:
    assert set(ORIGINS) == set(Origin)

"""From a job to its labels: click, wait, and the PDF is there."""

from pathlib import Path

import pypdfium2
import zxingcpp
from django.urls import reverse
from playwright.sync_api import expect

from orchestrator.models import Job
from pdfjobs.models import PdfJob
from tests.support.browsing import open_page
from tests.support.pdf_workers import real_workers


def test_an_operator_prints_the_labels_of_a_job(visitor, house, settings, tmp_path: Path) -> None:
    """The page that waits opens the PDF by itself; this browser, which has no viewer, downloads it."""
    artifacts = {"BACKEND": "pdfjobs.storage.folder.FolderStorage", "OPTIONS": {"location": tmp_path / "artifacts"}}
    settings.STORAGES = {**settings.STORAGES, "artifacts": artifacts}
    job = Job.objects.get(order_id="DEMO-1003")
    page = visitor.enter("demo-operator")
    open_page(page, reverse("admin:orchestrator_job_change", args=[job.pk]))
    PdfJob.objects.expire()  # those of the demo would be made first

    page.locator("summary", has_text="Print").click()
    page.get_by_role("button", name="Labels 100 × 50 mm (roll)").click()
    expect(page.get_by_role("heading", name="The PDF is being made").first).to_be_visible()
    with page.expect_download() as downloading, real_workers(tmp_path):
        downloading.value.save_as(tmp_path / "labels.pdf")

    pages = list(pypdfium2.PdfDocument(tmp_path / "labels.pdf"))
    found = [code.text for each in pages for code in zxingcpp.read_barcodes(each.render(scale=3).to_pil())]
    expected = [
        f"{job.pk}/{part['id']}/{piece + 1}" for part in job.payload["parts"] for piece in range(part["quantity"])
    ]
    assert found == expected

"""Conversions, orders and documents, sent to a running server."""

import io
import json

import pytest

from kilit_cli.failures import Failure
from kilit_cli.sending import read_lines
from ociqueue.api import script
from ociqueue.models import Conversion
from orchestrator.models import Job
from tests.support.command_line import http, strange_server
from tests.support.conversions import YESTERDAY
from tests.support.fixtures.pdf_jobs import worker_lives
from tests.support.pdf_jobs import body

__all__ = ["worker_lives"]

pytestmark = pytest.mark.django_db(transaction=True)
NAMES = "conversionName,gclid,conversionTime,conversionValue,conversionCurrency,sourceKey"


def lines(number: int, *more: str) -> str:
    good = (f"Satış,Cj0KCQ-test_{index},{YESTERDAY},12.50,TRY,order-{index}" for index in range(number))
    return "\n".join([NAMES, *good, *more, ""])


@pytest.fixture
def file(tmp_path):
    return tmp_path / "sales.csv"


def test_a_file_is_sent_in_batches_once(log_in, site, file, monkeypatch) -> None:
    monkeypatch.setattr("kilit_cli.sending.BATCH", 2)
    file.write_text(lines(5))
    kilit = log_in("enqueue")

    planned = kilit("enqueue", file, "--site", site.public_id, "--dry-run")
    sent = kilit("enqueue", file, "--site", site.public_id)
    again = kilit("enqueue", file, "--site", site.public_id, "--json")

    assert planned.out == "Dry run, nothing is stored. 5 lines: 5 created.\n"
    assert (sent.code, sent.out) == (0, "5 lines: 5 created.\n")
    assert (again.code, again.json["duplicates"], again.json["rejected"]) == (0, 5, [])
    assert Conversion.objects.for_site(site).count() == 5


def test_a_line_without_a_result_is_a_failure(log_in, site, file, monkeypatch) -> None:
    store = script.enqueue
    monkeypatch.setattr(script, "enqueue", lambda *rows, **how: store(*rows, **how)[1:])
    file.write_text(lines(3))

    ended = log_in()("enqueue", file, "--site", site.public_id)

    assert ended.code == 1
    assert "There is not one result for each line from line 2 on." in ended.err


def test_rejected_lines_are_named_and_the_others_stored(log_in, site, file, monkeypatch) -> None:
    monkeypatch.setattr("kilit_cli.sending.BATCH", 2)
    file.write_text(lines(2, "", "Satış,,tomorrow,1,TRY,bad-1", f"Satış,Cj0KCQ-x,{YESTERDAY},-1,TRY,bad-2"))

    ended = log_in()("enqueue", file, "--site", site.public_id)

    assert ended.code == 1
    assert "4 lines: 2 created, 2 invalid." in ended.out
    assert "Line 5  conversionTime  " in ended.out
    assert "Line 6  conversionValue  " in ended.out
    assert Conversion.objects.count() == 2


def test_the_key_of_another_site_and_one_that_may_not_send(log_in, make_site, file) -> None:
    file.write_text(lines(1))
    kilit = log_in("read")

    refused = kilit("enqueue", file, "--site", make_site("Other").public_id)

    assert refused.code == 3
    assert "This key does not have the scope enqueue." in refused.err


def test_a_site_that_is_not_there(log_in, make_site, file) -> None:
    file.write_text(lines(1))

    ended = log_in()("enqueue", file, "--site", make_site("Other").public_id)

    assert ended.code == 4
    assert Conversion.objects.count() == 0


@pytest.mark.parametrize(
    "content",
    [
        "\ufeffsourceKey;conversionValue;reason\r\nŞ-1;1250,50;was bad\r\n;;\r\n".encode(),
        "sourceKey;conversionValue\nŞ-1;1250,50\n".encode("cp1254"),
        "sourceKey\tconversionValue\nŞ-1\t1250.50\n".encode("utf-16"),
        'sourceKey,conversionValue\n"Ş-1","1250,50"\n'.encode(),
    ],
)
def test_files_of_excel_are_read(content: bytes) -> None:
    assert read_lines(content) == {2: {"sourceKey": "Ş-1", "conversionValue": "1250.50"}}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"gclid\nx\n", "no column sourceKey"),
        (b"", "no column sourceKey"),
        (b"sourceKey,gclid\na,b,c\n", "Line 2 has more cells"),
        (b'sourceKey\n"a\n', "Line 2 cannot be read"),
        (b'sourceKey\n"a"b\n', "Line 2 cannot be read"),
    ],
)
def test_files_that_cannot_be_read(content: bytes, sentence: str) -> None:
    with pytest.raises(Failure, match=sentence) as caught:
        read_lines(content)

    assert caught.value.exit_code == 2


def test_a_busy_server_is_asked_again(kilit, file, monkeypatch) -> None:
    busy = {"error": {"code": "TOO_MANY_REQUESTS", "message": "Too many."}}
    pauses: list[float] = []
    monkeypatch.setattr("kilit_cli.api.LONGEST_PAUSE", 60)
    monkeypatch.setattr("time.sleep", pauses.append)
    file.write_text(lines(1))
    refusal = http(json.dumps(busy).encode(), "429 Too Many Requests", "application/json", "Retry-After: 7")
    with strange_server(refusal) as server:
        kilit.use(server.address, "kilit_key")
        ended = kilit("enqueue", file)

    assert ended.code == 5
    assert pauses == [7] * 5
    assert len(server.requests) == 6


def test_an_order_as_a_sheet(log_in, tmp_path) -> None:
    sheet = tmp_path / 'kitchen "ş\n.csv'
    sheet.write_text("18MM;RENK: Beyaz;210*280\r\nyan;720;560,5;2;1;x;x;;\r\nARKALIK 5MM;700;500;1;0\r\n")
    options = ("--customer-phone", "0555 123 45 67", "--material-code", "MAT-01", "--edge", "1mm", "--order-id", "S-76")
    kilit = log_in("enqueue")

    planned = kilit("order", sheet, *options, "--dry-run")
    stored, again = (kilit("order", sheet, *options) for _ in range(2))

    assert (planned.code, planned.err) == (0, "")
    assert "2 parts can be read. Nothing is stored." in planned.out
    assert "Order S-76 is stored: job " in stored.out
    assert "Order S-76 was sent before: job " in again.out
    assert Job.objects.get().order_id == "S-76"


def test_faults_of_an_order_are_listed(log_in, tmp_path) -> None:
    sheet = tmp_path / "kitchen.csv"
    sheet.write_text("18MM\r\n;720;560;2;1;x;x;;\r\n")

    ended = log_in()("order", sheet)

    assert ended.code == 1
    assert ended.err.count("material_code: The material is missing.") == 1
    assert Job.objects.count() == 0


def test_files_that_are_missing_or_no_json(kilit, live_server, tmp_path) -> None:
    kilit.use(live_server.url, "kilit_key")
    (tmp_path / "order.json").write_text("{")

    missing, broken = kilit("enqueue", tmp_path / "no.csv"), kilit("pdf", tmp_path / "order.json")

    assert (missing.code, broken.code) == (1, 2)
    assert "no.csv: No such file or directory." in missing.err
    assert "is not JSON" in broken.err


def test_a_document_that_no_worker_renders(log_in, tmp_path, worker_lives, monkeypatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(body()).encode())))

    ended = log_in()("pdf", "-", "-o", tmp_path / "out.pdf", "--wait", "0", "--json")

    assert ended.code == 5, ended.err
    assert "It is queued after 0 seconds." in ended.err
    assert not (tmp_path / "out.pdf").exists()


def test_a_misspelt_field_of_an_order_is_named(log_in, tmp_path) -> None:
    (tmp_path / "kitchen.csv").write_text("18MM\r\n;720;560;2;1;x;x;;\r\n")

    ended = log_in()("order", tmp_path / "kitchen.csv", "--edgy", "1mm")

    assert ended.code == 1
    assert "edgy" in ended.err


def test_a_document_that_is_refused(log_in, tmp_path, worker_lives) -> None:
    (tmp_path / "t.json").write_text(json.dumps({"template_name": "nothing", "variables": {}}))

    ended = log_in()("pdf", tmp_path / "t.json")

    assert ended.code == 1
    assert "template_name" in ended.err or "nothing" in ended.err

"""E-mail addresses and phone numbers at the door: hashed there, or refused with words."""

import hashlib
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from kilit.csv.text import CsvError
from ociqueue.intake.corrections import Correction, replace_rows
from ociqueue.models import Conversion, ImportLine
from ociqueue.schemas.conversions import NOT_ACCEPTED, ONE_CLICK_ID
from ociqueue.states import SyncMethod
from ociqueue.values.identifiers import hash_email, hash_phone
from tests.support.conversions import YESTERDAY, make_failed
from tests.support.imports import import_file

pytestmark = pytest.mark.django_db

EMAIL, PHONE = "Jane.Doe+promo@Gmail.com", "+90 532 123 45 67"
HASHES = {
    "hashed_email": hash_email(EMAIL).data_manager,
    "hashed_email_ads": hash_email(EMAIL).ads,
    "hashed_phone": hash_phone(PHONE),
}
READY = hashlib.sha256(b"ready").hexdigest()


@pytest.fixture
def site(make_site: Any) -> Any:
    return make_site(accepts_identifiers=True, sync_method=SyncMethod.DATA_MANAGER)


def item(**fields: Any) -> dict[str, Any]:
    good = {"conversionName": "Sale", "conversionTime": YESTERDAY, "conversionValue": 5, "conversionCurrency": "TRY"}
    return good | fields


def post(api: Any, site: Any, **fields: Any) -> dict[str, Any]:
    answer = api.post("oci/conversions", {"siteId": site.public_id, "conversions": [item(**fields)]})
    assert answer.status_code == 200, answer.content
    return answer.json()["results"][0]


def errors(result: dict[str, Any]) -> dict[str, str]:
    return {error["field"]: error["message"] for error in result.get("errors", [])}


def stored() -> dict[str, str]:
    return {name: getattr(Conversion.objects.get(), name) for name in ("gclid", *Conversion.HASHES)}


@pytest.mark.parametrize("gclid", ["", "Cj0"])
def test_only_hashes_are_stored(api, site, gclid) -> None:
    result = post(api, site, gclid=gclid, email=EMAIL, phone=PHONE)

    assert result["status"] == "created"
    assert stored() == {"gclid": gclid, **HASHES}


def test_ready_hashes_are_stored_as_they_are(api, site) -> None:
    post(api, site, hashedEmail=READY.upper(), hashedPhone=HASHES["hashed_phone"])

    assert stored() == {**HASHES, "gclid": "", "hashed_email": READY, "hashed_email_ads": ""}


@pytest.mark.parametrize(
    ("fields", "phone"),
    [
        ({"hashedPhoneNumber": READY}, READY),
        ({"hashedPhoneNumber": ""}, ""),
        ({"hashedPhoneNumber": None}, ""),
        ({"hashedPhoneNumber": READY, "hashedPhone": ""}, READY),
        ({"hashedPhoneNumber": "ab" * 32, "hashedPhone": READY}, READY),
    ],
)
def test_the_name_of_the_export_for_a_hash_of_a_phone_is_understood(api, site, fields, phone) -> None:
    result = post(api, site, gclid="Cj0", **fields)

    assert (result["status"], stored()["hashed_phone"]) == ("created", phone)


@pytest.mark.parametrize("name", ["email", "phone", "hashedEmail", "hashedPhone"])
def test_a_site_without_the_option_refuses_identifiers_and_says_where_it_is(api, site, name) -> None:
    type(site).objects.update(accepts_identifiers=False)

    with_click, without = post(api, site, gclid="Cj0", **{name: READY}), post(api, site, **{name: READY})

    assert errors(with_click) == {name: NOT_ACCEPTED}
    assert errors(without) == {name: NOT_ACCEPTED, "gclid": ONE_CLICK_ID}
    assert not Conversion.objects.exists()


def test_the_script_cannot_send_hashes_alone(api, site) -> None:
    type(site).objects.update(sync_method=SyncMethod.SCRIPT)

    assert "Google Ads Script" in errors(post(api, site, email=EMAIL))["gclid"]
    assert errors(post(api, site)) == {"gclid": ONE_CLICK_ID}
    assert post(api, site, gclid="Cj0", email=EMAIL)["status"] == "created"


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        ({}, ["gclid"]),
        ({"gclid": "Cj0", "wbraid": "0AA", "email": EMAIL}, ["gclid"]),
        ({"email": "jane"}, ["email"]),
        ({"email": 7, "phone": "0532 123 45 67"}, ["email", "phone"]),
        ({"email": f"{'a' * 320}@b.com"}, ["email"]),
        ({"hashedEmail": EMAIL, "hashedPhone": PHONE}, ["hashedEmail", "hashedPhone"]),
        ({"email": EMAIL, "hashedEmail": READY, "phone": PHONE, "hashedPhone": READY}, ["hashedEmail", "hashedPhone"]),
        ({"gclid": EMAIL}, ["gclid"]),
        ({"gclid": "Cj0", "sourceKey": EMAIL}, ["sourceKey"]),
        ({"gclid": "Cj0", "Email": EMAIL}, ["Email"]),
    ],
)
def test_what_is_wrong_is_said_without_repeating_it(api, site, fields, names) -> None:
    result = post(api, site, **fields)

    assert sorted(errors(result)) == sorted(names)
    assert not any(str(value) in str(errors(result)) for value in fields.values() if len(str(value)) > 4)


def test_a_site_without_the_option_keeps_its_source_keys(api, site) -> None:
    type(site).objects.update(accepts_identifiers=False)

    assert post(api, site, gclid="Cj0", sourceKey=EMAIL)["status"] == "created"


HEADER = "sourceKey,conversionName,gclid,conversionTime,conversionValue,conversionCurrency,email,phone"
LINE = f"1,Sale,,{YESTERDAY},5,TRY"


def imported(site: Any, *lines: str) -> Any:
    return import_file(site, "\n".join([HEADER, *lines]).encode())


def test_a_file_has_columns_of_identifiers(site) -> None:
    tally = imported(site, f"{LINE},{EMAIL},{PHONE}")

    assert (tally.created, stored()) == (1, {"gclid": "", **HASHES})


def test_a_line_of_a_person_needs_a_source_key(site) -> None:
    tally = imported(
        site, f"{LINE[1:]},{EMAIL},", f"{LINE[1:]},,{PHONE}", f"{LINE[1:].replace(',,', ',Cj0,')},{EMAIL},"
    )

    assert (tally.created, tally.rejected_lines) == (1, 2)
    assert "needs a sourceKey" in tally.rejected[0].reason


def test_a_file_with_such_columns_is_refused_by_a_site_without_the_option(site) -> None:
    site.accepts_identifiers = False

    with pytest.raises(CsvError, match="does not accept"):
        imported(site, f"{LINE},{EMAIL},")


def test_cells_of_a_file_without_a_header_are_not_repeated(site) -> None:
    for first_line, message in {
        f"Sale;{EMAIL};{PHONE}": "The first line does not name the columns; expected conversionName,",
        f"gclid;{EMAIL};{PHONE}": "Unknown columns: …, …; expected",
    }.items():
        with pytest.raises(CsvError) as refusal:
            import_file(site, f"{first_line}\n".encode())

        assert str(refusal.value).startswith(message)


def test_rejected_lines_hide_identifiers_wherever_they_are(site, admin_client) -> None:
    lines = [
        f"{LINE},jane,0532 123 45 67",
        f"2,Sale,{EMAIL},{YESTERDAY},-5,TRY,,",
        f"{LINE},{EMAIL},{PHONE},one too many",
        f'{LINE},"{EMAIL},{PHONE}',
    ]
    file = SimpleUploadedFile("a.csv", "\n".join([HEADER, *lines]).encode())

    page = admin_client.post(reverse("admin:ociqueue_conversion_import_csv"), {"site": site.pk, "file": file})

    report = page.context["rejected"]
    file_of_rejected = b"".join(admin_client.get(report["address"])).decode()
    kept = list(ImportLine.objects.values_list("cells", "text", "faults", "reason"))
    whole = page.text + file_of_rejected + str(report["fields"]) + str(kept)
    assert len({field.line for field in report["fields"]}) == len(kept) == 4
    assert file_of_rejected.count("…") >= 4
    assert not any(text in whole for text in ("jane", EMAIL, "123 45 67"))


def test_a_hidden_cell_cannot_be_imported(site) -> None:
    tally = imported(site, f"{LINE},…,")

    assert [field.reason for field in tally.rejected[0].fields] == [
        "It was hidden in the file of rejected lines. Enter it again."
    ]


def corrected(site: Any, original: Conversion, **changes: str) -> Any:
    (result,) = replace_rows(site, [Correction(str(original), changes)])
    return result


@pytest.mark.parametrize("accepts", [True, False])
def test_a_correction_keeps_the_hashes(make_site, accepts) -> None:
    site = make_site(accepts_identifiers=accepts)
    (original,) = make_failed(site, **HASHES)

    copy = corrected(site, original, conversionValue="7").copy

    assert {name: getattr(copy, name) for name in Conversion.HASHES} == HASHES


def test_a_correction_keeps_a_row_without_a_click_id(make_site) -> None:
    site = make_site()
    (original,) = make_failed(site, gclid="", **HASHES)
    type(site).objects.update(sync_method=SyncMethod.API)
    original.refresh_from_db()

    assert corrected(original.site, original, conversionValue="7").copy.hashed_email == HASHES["hashed_email"]


def test_a_correction_adds_and_changes_identifiers(make_site) -> None:
    site = make_site(accepts_identifiers=True)
    (original,) = make_failed(site, hashed_email=HASHES["hashed_email"], hashed_email_ads=HASHES["hashed_email_ads"])

    copy = corrected(site, original, email="other@example.com", phone=PHONE).copy

    assert (copy.gclid, copy.hashed_email_ads, copy.hashed_phone) == (original.gclid, "", HASHES["hashed_phone"])
    assert copy.hashed_email == hash_email("other@example.com").data_manager


def test_the_form_of_a_correction_does_not_repeat_an_address(make_site, admin_client) -> None:
    site = make_site(accepts_identifiers=True)
    (original,) = make_failed(site)
    address = reverse("admin:ociqueue_conversion_correct", args=[original.pk])
    form = admin_client.get(address).context["form"].initial

    page = admin_client.post(address, {**form, "email": "jane@@example.com", "phone": "0532 123 45 67"})

    assert set(page.context["form"].errors) == {"email", "phone"}
    assert "jane@@example.com" not in page.text
    assert "0532 123 45 67" not in page.text
    assert admin_client.post(address, {**form, "email": EMAIL}).status_code == 302
    assert Conversion.objects.get(replaces=original).hashed_email == HASHES["hashed_email"]


def test_a_site_without_the_option_is_asked_for_no_address(make_site, admin_client) -> None:
    (original,) = make_failed(make_site())

    page = admin_client.get(reverse("admin:ociqueue_conversion_correct", args=[original.pk]))

    assert not {"email", "phone"} & set(page.context["form"].fields)


@pytest.mark.parametrize("accepts", [True, False])
def test_the_template_has_the_columns_on_request(make_site, admin_client, accepts) -> None:
    make_site(accepts_identifiers=accepts)
    address = reverse("admin:ociqueue_conversion_import_template")

    page = admin_client.get(reverse("admin:ociqueue_conversion_import_csv")).text
    plain = b"".join(admin_client.get(address)).decode()
    whole = b"".join(admin_client.get(f"{address}?identifiers")).decode()

    assert (f"{address}?identifiers" in page) == accepts
    assert "email" not in plain
    assert "email,phone,hashedEmail,hashedPhone" in whole


def test_the_export_has_hashes_only_of_rows_that_have_them(api, site, make_conversion) -> None:
    type(site).objects.update(sync_method=SyncMethod.SCRIPT)
    plain, hashed = make_conversion(site, gclid="1"), make_conversion(site, gclid="2", **HASHES)

    preview = api.get("oci/google-ads-export", siteId=site.public_id).json()["items"]
    items = {item["id"]: item for item in api.claim(site)}

    assert [{**item, "claim": 1} for item in preview] == list(items.values())
    both = {"hashedEmail": HASHES["hashed_email"], "hashedPhone": HASHES["hashed_phone"]}
    assert items[str(hashed)].items() >= both.items()
    assert items[str(hashed)].keys() - items[str(plain)].keys() == {*both, "hashedPhoneNumber"}

"""One file of many sites: each line names its site, and reaches it only if its reader may act there."""

import csv
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db.models.functions import Now
from django.test import Client

from kilit.lock.models import Activity
from kilit.problems.registry import find_problems
from kilit.sites.models import SiteMembership
from ociqueue.models import Adjustment, Conversion, ImportJob, ImportLine
from tests.support.conversions import make_failed
from tests.support.imports import ADDRESS, HEADER, PAGES, TIME, confirm, rejected_lines

pytestmark = pytest.mark.django_db

LIST = "/admin/ociqueue/conversion/"
NO_SITE = "There is no site with this siteId, or you may not import into it."
KINDS = {
    "conversions": (f"siteId,{HEADER}", f"Satış,c-1,{TIME},1.50,TRY"),
    "adjustments": ("siteId,conversionSourceKey,kind\n", "order-1,RETRACTION"),
    "corrections": ("siteId,id,gclid\n", "{id},corrected"),
}


def upload(client: Client, content: str) -> Any:
    return client.post(ADDRESS, {"site": "", "file": SimpleUploadedFile("failed.csv", content.encode())})


def exported(client: Client) -> list[dict[str, str]]:
    text = b"".join(client.get(f"{LIST}dead-letters/").streaming_content).decode("utf-8-sig")  # type: ignore[attr-defined]
    return list(csv.DictReader(StringIO(text, newline="")))


def written(lines: list[dict[str, str]]) -> str:
    file = StringIO()
    writer = csv.DictWriter(file, lines[0])
    writer.writeheader()
    writer.writerows(lines)
    return file.getvalue()


def test_the_exported_failures_of_many_sites_come_back_as_one_file(make_person, make_site) -> None:
    sites = [make_site() for _number in range(3)]
    rows = [row for site in sites for row in make_failed(site, 2)]
    client = make_person(sites=dict.fromkeys(sites, "operator"))
    lines = [line | {"gclid": f"right-{number}"} for number, line in enumerate(exported(client))]
    lines[5]["conversionValue"] = "many"

    checked = upload(client, written(lines))
    stored = confirm(client)

    assert checked.context["summary"].startswith("Would correct 5 of 6 rows; 0 unchanged, 1 rejected.")
    assert stored.context["summary"] == "Corrected 5 of 6 rows; 0 unchanged, 1 rejected."
    copies = Conversion.objects.filter(replaces__in=rows)
    assert sorted(copies.values_list("site", "replaces__site")) == sorted(
        [(site.pk, site.pk) for site in sites for _number in range(2)][:5]
    )
    replaced = Activity.objects.filter(verb="REPLACED").values_list("scope", "rows")
    assert sorted(replaced) == sorted([(str(sites[0].pk), 2), (str(sites[1].pk), 2), (str(sites[2].pk), 1)])
    (line,) = csv.DictReader(StringIO(rejected_lines(client, ImportJob.objects.get())))
    assert (line["siteId"], line["conversionValue"]) == (sites[2].public_id, "many")


@pytest.mark.parametrize("kind", KINDS)
def test_a_line_reaches_no_site_that_its_reader_may_not_act_on(make_person, make_site, kind: str) -> None:
    own, watched, foreign = (make_site() for _number in range(3))
    client = make_person(sites={own: "operator", watched: "viewer"})
    header, line = KINDS[kind]
    rows = {site: make_failed(site, source_key="order-1")[0] for site in (own, watched, foreign)}
    names = {site.public_id: rows[site] for site in (own, watched, foreign)} | {"0" * 32: rows[foreign]}

    answer = upload(client, header + "".join(f"{name},{line.format(id=row)}\n" for name, row in names.items()))
    confirm(client)

    faults = [(fault.line, fault.field, fault.reason) for fault in answer.context["rejected"]["fields"]]
    assert faults[-3:] == [(number, "", NO_SITE) for number in (3, 4, 5)]
    assert Conversion.objects.exclude(pk__in=[row.pk for row in rows.values()]).exclude(site=own).count() == 0
    assert Adjustment.objects.exclude(site=own).count() == 0


def test_a_row_of_another_site_is_not_reached_through_the_own(make_person, make_site) -> None:
    own, foreign = make_site(), make_site()
    (row,) = make_failed(foreign)
    client = make_person(sites={own: "operator"})

    answer = upload(client, f"siteId,id,gclid\n{own.public_id},{row},new\n")

    assert answer.context["rejected"]["fields"][0].reason == "there is no such row at this site"


def test_the_same_keys_at_two_sites_are_two_conversions(make_person, make_site) -> None:
    sites = [make_site(), make_site()]
    client = make_person(sites=dict.fromkeys(sites, "operator"))
    lines = "".join(f"{site.public_id},Satış,c-1,{TIME},1.50,TRY\n" for site in (*sites, *sites))

    checked = upload(client, f"siteId,{HEADER}{lines}")
    confirm(client)

    assert checked.context["summary"].startswith("Would store 2 of 4 lines; 2 duplicates, 0 rejected.")
    assert set(Conversion.objects.values_list("site", flat=True)) == {site.pk for site in sites}
    assert sorted(Activity.objects.filter(kind="import").values_list("scope", "rows")) == sorted(
        (str(site.pk), 1) for site in sites
    )


def test_who_loses_a_site_after_the_check_stores_nothing_there(make_person, make_site) -> None:
    kept, lost = make_site(), make_site()
    client = make_person(sites={kept: "operator", lost: "operator"})
    lines = "".join(f"{site.public_id},Satış,c-1,{TIME},1.50,TRY\n" for site in (kept, lost))
    upload(client, f"siteId,{HEADER}{lines}")
    SiteMembership.objects.filter(site=lost).delete()

    answer = confirm(client)

    assert Conversion.objects.get().site == kept
    assert answer.context["rejected"]["fields"][0].reason == NO_SITE


def test_a_file_of_several_sites_is_seen_by_its_reader_and_owners_alone(make_person, make_site, admin_client) -> None:
    site = make_site()
    reader, other = (make_person(name, sites={site: "operator"}) for name in ("ayse", "veli"))
    upload(reader, f"siteId,{HEADER}{site.public_id},Satış,c-1,{TIME},1.50,TRY\n")
    page = f"{PAGES}{ImportJob.objects.get().pk}/change/"

    assert [client.get(page).status_code for client in (reader, admin_client, other)] == [200, 200, 404]


def test_a_file_needs_a_site_or_a_column_of_sites(make_person, make_site) -> None:
    site, other = make_site(), make_site()
    client = make_person(sites={site: "operator", other: "operator"})

    assert "Choose a site, or add a column siteId" in upload(client, f"{HEADER}Satış,c-1,{TIME},1.50,TRY\n").text
    file = SimpleUploadedFile("a.csv", f"siteId,{HEADER}{other.public_id},Satış,c-1,{TIME},1.50,TRY\n".encode())
    answer = client.post(ADDRESS, {"site": str(site.pk), "file": file})
    assert answer.context["rejected"]["fields"][0].reason.startswith("The line is of another site")
    answer = upload(client, f"siteId,{HEADER},Satış,c-1,{TIME},1.50,TRY\n")
    assert answer.context["rejected"]["fields"][0].reason == "The siteId is missing."


def test_erasing_at_a_site_finds_lines_of_files_of_several_sites(make_person, make_site) -> None:
    site, other = make_site(), make_site()
    client = make_person(sites={site: "operator", other: "operator"})
    bad = "".join(f"{name},Satış,click-of-ayse,{TIME},many,TRY\n" for name in (site.public_id, other.public_id))
    upload(client, f"siteId,{HEADER}{bad}")

    assert ImportLine.objects.about("click-of-ayse", [site]).get().cells["siteId"] == site.public_id


def test_the_command_takes_the_sites_from_the_file(make_site, tmp_path) -> None:
    sites = [make_site(), make_site()]
    file = tmp_path / "sales.csv"
    file.write_text(f"siteId,{HEADER}" + "".join(f"{site.public_id},Satış,c-1,{TIME},1.50,TRY\n" for site in sites))

    call_command("oci_import", file)

    assert Conversion.objects.count() == 2


def test_a_failed_import_of_several_sites_is_a_problem_of_who_asked_for_it(make_person, make_site, admin_user) -> None:
    for name in ("ayse", "berk"):
        make_person(name, sites={make_site(): "operator"})
    ayse, berk = (User.objects.get(username=name) for name in ("ayse", "berk"))
    job = ImportJob.objects.create(site=None, asked_by=ayse, file_name="a.csv", size=1, kind="conversions")
    ImportJob.objects.filter(pk=job.pk).move("fail", finished_at=Now(), error="It broke.")

    def lines(user: User) -> list[tuple[str, str]]:
        return [(line.title, line.link) for line in find_problems(user) if line.kind == "import-stopped"]

    assert lines(ayse) == lines(admin_user) == [("Several sites: an import stopped", f"{PAGES}{job.pk}/change/")]
    assert lines(berk) == []

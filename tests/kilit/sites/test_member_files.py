"""Members in bulk: the rules of the pages hold for files, too."""

import csv
from collections.abc import Callable
from io import BytesIO, StringIO
from typing import Any
from unittest.mock import patch

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from kilit.access.roles import SITE_ROLES
from kilit.csv import reader, text
from kilit.csv.text import FileMisread
from kilit.sites.member_files import MemberPlan, read_members, store_members
from kilit.sites.models import SiteMembership
from ociqueue.models import Site
from tests.support.agency import make_admin
from tests.support.people import browser_of, make_user

pytestmark = pytest.mark.django_db

HEADER = "username,email,firstName,lastName,site,role\n"
EXPORT = "/admin/ociqueue/site/export/members/"


def store(user: User, *lines: str, **options: Any) -> MemberPlan:
    return store_members(user, read_members(BytesIO((HEADER + "\n".join(lines)).encode())), **options)


def roles(site: Site) -> dict[str, str]:
    return dict(site.memberships.values_list("user__username", "role"))


@pytest.fixture
def own_admin(site: Site) -> User:
    """An admin of one site, who is no superuser."""
    return make_admin("ayse", sites={site: "admin"})


def test_new_people_can_log_in_with_their_first_password(site: Site, own_admin: User) -> None:
    plan = store(own_admin, f"mehmet,m@example.com,Mehmet,Öz,{site.public_id},operator")

    person = User.objects.get(username="mehmet")
    assert (person.email, person.is_staff, person.is_superuser) == ("m@example.com", True, False)
    assert [group.name for group in person.groups.all()] == ["operator"]
    assert roles(site)["mehmet"] == "operator"
    form = {"username": "mehmet", "password": plan.passwords["mehmet"]}
    assert Client().post("/admin/login/", form).status_code == 302
    person.refresh_from_db()
    assert person.password.split("$")[1] != "1000"  # the login stored the slow hash


def test_roles_are_changed_and_ended(site: Site, own_admin: User, make_person: Any) -> None:
    make_person("ali", sites={site: "viewer"})
    make_person("veli", sites={site: "viewer"})

    plan = store(own_admin, f"ali,,,,{site.name},operator", f"veli,,,,{site.name},none")

    assert plan.rejected == []
    assert roles(site) == {"ayse": "admin", "ali": "operator"}


def test_one_invalid_line_refuses_the_whole_file(site: Site, own_admin: User) -> None:
    plan = store(
        own_admin,
        f"mehmet,,,,{site.public_id},operator",
        f"mehmet,,,,{site.public_id},viewer",
        "zeynep,,,,nowhere,viewer",
        f"zeynep,,,,{site.public_id},boss",
        f"bad name!,no-address,,,{site.public_id},viewer",
        f"nobody,,,,{site.public_id},none",
        f"site-{site.public_id},,,,{site.public_id},viewer",
    )

    assert [(each.line, each.field) for each in plan.rejected] == [
        (3, "username"),
        (4, "site"),
        (5, "role"),
        (6, "username"),
        (6, "email"),
        (7, "username"),
        (8, "username"),
    ]
    assert not User.objects.filter(username="mehmet").exists()


def test_an_admin_neither_makes_nor_unmakes_admins(site: Site, own_admin: User, make_person: Any) -> None:
    make_person("fatma", role="admin", sites={site: "admin"})

    plan = store(own_admin, f"fatma,,,,{site.name},viewer", f"new,,,,{site.name},admin", f"ayse,,,,{site.name},none")

    assert [each.field for each in plan.rejected] == ["role", "role", "role"]
    assert roles(site) == {"ayse": "admin", "fatma": "admin"}


def test_an_admin_reaches_neither_other_sites_nor_strangers(
    site: Site, own_admin: User, make_site: Callable[..., Site], make_person: Any
) -> None:
    other = make_site(name="Other")
    make_person("stranger", sites={other: "operator"})

    plan = store(own_admin, f"new,,,,{other.public_id},viewer", f"stranger,,,,{site.public_id},viewer")

    assert [each.field for each in plan.rejected] == ["site", "username"]
    assert set(roles(other)) == {"stranger"}
    assert not User.objects.filter(username="new").exists()


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_others_change_no_members(site: Site, make_person: Any, role: str) -> None:
    client = make_person(role=role, sites={site: role})

    assert client.get(EXPORT).status_code == 403
    assert store(User.objects.get(username="ayse"), f"new,,,,{site.public_id},viewer").rejected


def test_owners_make_admins_and_nobody_an_owner(site: Site) -> None:
    owner = make_user(role="owner")

    refused = store(owner, f"new,,,,{site.public_id},owner")
    store(owner, f"new,,,,{site.public_id},admin")

    assert [each.field for each in refused.rejected] == ["role"]

    assert roles(site) == {"new": "admin"}
    assert [group.name for group in User.objects.get(username="new").groups.all()] == ["admin"]


def test_a_person_of_several_sites_gets_the_group_of_the_highest_role(
    make_site: Callable[..., Site], admin_user: User
) -> None:
    first, second = make_site(name="A"), make_site(name="B")

    store(admin_user, f"new,,,,{first.name},operator", f"new,,,,{second.name},viewer")

    assert [group.name for group in User.objects.get(username="new").groups.all()] == ["operator"]
    assert (roles(first), roles(second)) == ({"new": "operator"}, {"new": "viewer"})


def test_an_exported_file_can_be_imported_again(site: Site, own_admin: User, make_person: Any) -> None:
    make_person("ali", sites={site: "viewer"})
    site.issue_key(name="script")
    exported = b"".join(browser_of(own_admin).get(EXPORT).streaming_content)

    plan = store_members(own_admin, read_members(BytesIO(exported)))

    assert (plan.rejected, plan.changes, len(plan.found)) == ([], 0, 2)
    assert SiteMembership.objects.count() == 3  # with the owner of the keys


def test_the_page_shows_first_passwords_once(site: Site, admin_client: Client) -> None:
    text = f"{HEADER}new,,,,{site.public_id},viewer\n"

    def post(**fields: Any) -> Any:
        return admin_client.post("/admin/ociqueue/site/import-members/", fields)

    checked = post(file=SimpleUploadedFile("members.csv", text.encode()))
    assert "new (new person)" in checked.text
    assert not User.objects.filter(username="new").exists()

    applied = post(checked=checked.context["checked"])
    assert applied.context["passwords"]["new"] in applied.text
    assert post(checked=checked.context["checked"]).context["passwords"] == {}


def test_each_line_of_a_file_is_stored_as_another_reader_reads_it(make_site: Any) -> None:
    """A file of several batches: what is read of it has to be the file, and each line a change."""
    sites = [make_site() for _number in range(3)]
    owner = make_admin("ayse", sites=dict.fromkeys(sites, "admin"))
    lines = [f"person-{n // 3},,Ayşe,Öz,{sites[n % 3].public_id},{SITE_ROLES[n % 2]}" for n in range(60)]

    with patch.object(reader, "BATCH", 7):
        plan = store(owner, *lines)

    ids = {site.public_id: site.pk for site in sites}
    read = csv.DictReader(StringIO(HEADER + "\n".join(lines)))
    stored = SiteMembership.objects.exclude(user=owner).values_list("user__username", "site", "role")
    assert sorted(stored) == sorted((line["username"], ids[line["site"]], line["role"]) for line in read)
    assert (plan.changes, plan.rejected) == (60, [])


def test_a_file_of_which_lines_are_lost_is_refused(site: Site, own_admin: User, monkeypatch: Any) -> None:
    read = text._read_records
    monkeypatch.setattr(text, "_read_records", lambda *where: list(read(*where))[:1])

    with pytest.raises(FileMisread, match=r"From line 3 on, what was read is not what the file has\."):
        store(own_admin, *(f"person-{n},,,,{site.public_id},viewer" for n in range(2)))

    assert roles(site) == {"ayse": "admin"}

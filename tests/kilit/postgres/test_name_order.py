"""Names in the order of the reader's alphabet, with ICU and without."""

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils.translation import override

from kilit.postgres import collation
from kilit.postgres.collation import NameOrder, has_icu
from ociqueue.models import Site
from ociqueue.operating.filters import _sites_of
from orchestrator.models import Customer
from tests.support.dashboard import make_site

pytestmark = pytest.mark.django_db

NAMES = ["zeytin", "Ilgaz", "İzmir", "Cunda", "Çağlar", "Hatay", "Şişli", "Sivas", "ığdır", "Isparta", "Ödemiş", "Oltu"]
TURKISH = [
    "Cunda",
    "Çağlar",
    "Hatay",
    "ığdır",
    "Ilgaz",
    "Isparta",
    "İzmir",
    "Oltu",
    "Ödemiş",
    "Sivas",
    "Şişli",
    "zeytin",
]
ENGLISH = [
    "Çağlar",
    "Cunda",
    "Hatay",
    "ığdır",
    "Ilgaz",
    "Isparta",
    "İzmir",
    "Ödemiş",
    "Oltu",
    "Şişli",
    "Sivas",
    "zeytin",
]


@pytest.mark.parametrize(("language", "order"), [("tr", TURKISH), ("en", ENGLISH)])
def test_lists_of_names_are_in_the_readers_order(admin_client, admin_user, language, order) -> None:
    for number, name in enumerate(NAMES):
        make_site(name)
        Customer.objects.create(name=name, phone=f"+90555000{number:04}")
        User.objects.create(username=name)
    admin_client.cookies["django_language"] = language
    if language == "en" and has_icu(connection):
        order = [name for name in order if name != "ığdır"]
        order.insert(order.index("İzmir") + 1, "ığdır")  # to ICU, ı is a letter of its own, after i

    sites, customers, users = (
        [str(row) for row in admin_client.get(address).context["cl"].result_list]
        for address in ("/admin/ociqueue/site/", "/admin/orchestrator/customer/", "/admin/auth/user/")
    )

    assert sites == order
    assert [name.partition(" (")[0] for name in customers] == order
    assert [name for name in users if name != admin_user.username] == order
    with override(language):
        assert [name for _pk, name in _sites_of(admin_user)] == order


def test_a_click_on_the_header_sorts_the_same_way(admin_client) -> None:
    for name in ("Cunda", "Çağlar", "Datça"):
        make_site(name)

    shown = admin_client.get("/admin/ociqueue/site/?o=-1").context["cl"].result_list

    assert [site.name for site in shown] == ["Datça", "Cunda", "Çağlar"]


def test_icu_is_used_where_the_database_has_it(monkeypatch) -> None:
    assert isinstance(has_icu(connection), bool)
    monkeypatch.setattr(collation, "has_icu", lambda _connection: True)
    sites = Site.objects.order_by(NameOrder("name"))

    with override("tr"):
        in_turkish = str(sites.query)

    assert in_turkish.endswith('("sites_tenant"."name") COLLATE "tr-x-icu" ASC')
    assert str(sites.query).endswith('("sites_tenant"."name") COLLATE "en-x-icu" ASC')

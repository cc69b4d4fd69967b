"""E-mail addresses are compared one way, whatever the locale of the database is; in Turkish, upper('i') is İ."""

import pytest
from django.contrib.auth.models import User
from django.db import connection

from kilit.access.password_reset import LinkRequestForm
from kilit.postgres.collation import has_icu
from kilit.sites.oidc.accounts import _free_name, _with_same_address
from tests.support.second_factors import PASSWORD

pytestmark = pytest.mark.django_db

COLLATE = 'ALTER TABLE auth_user ALTER COLUMN {0} TYPE varchar({1}) COLLATE "tr-x-icu"'
# For a server without ICU: the functions of a Turkish locale, which obey another collation as the real ones do.
FUNCTIONS = """
    CREATE SCHEMA turkish;
    CREATE FUNCTION turkish.upper(letters text) RETURNS text LANGUAGE plpgsql AS $$
      BEGIN
        RETURN pg_catalog.upper(
          CASE WHEN pg_collation_for(letters) = '"C"' THEN letters ELSE translate(letters, 'iı', 'İI') END COLLATE "C");
      END $$;
    CREATE FUNCTION turkish.lower(letters text) RETURNS text LANGUAGE plpgsql AS $$
      BEGIN
        RETURN pg_catalog.lower(
          CASE WHEN pg_collation_for(letters) = '"C"' THEN letters ELSE translate(letters, 'Iİ', 'ıi') END COLLATE "C");
      END $$;
    SET LOCAL search_path = turkish, pg_catalog, public;
"""


@pytest.fixture(params=["its own", "Turkish"])
def locale(request) -> None:
    if request.param == "Turkish":
        with connection.cursor() as cursor:
            if has_icu(connection):
                cursor.execute(f"{COLLATE.format('email', 254)}; {COLLATE.format('username', 150)}")
            else:
                cursor.execute(FUNCTIONS)
            cursor.execute("SELECT upper(email) FROM (SELECT email FROM auth_user UNION SELECT 'i') AS rows")
            assert has_icu(connection) or cursor.fetchall() == [("İ",)]


def make_user(name: str, email: str) -> User:
    return User.objects.create_user(name, email, PASSWORD, is_staff=True)


@pytest.mark.usefixtures("locale")
@pytest.mark.parametrize("typed", ["irem@example.com", "IREM@example.com", "Irem@EXAMPLE.COM"])
@pytest.mark.parametrize("stored", ["irem@example.com", "IREM@Example.com"])
def test_an_address_is_found_in_capitals_and_in_small_letters(settings, typed: str, stored: str) -> None:
    settings.OIDC_JOIN_BY_EMAIL = True
    irem = make_user("irem", stored)

    by_reset = LinkRequestForm().get_users(typed)
    by_provider = _with_same_address({"email": typed, "email_verified": True})

    assert (by_reset, by_provider) == ([irem], irem)


@pytest.mark.usefixtures("locale")
@pytest.mark.parametrize("typed", ["ırem@example.com", "İREM@example.com", "irem@example.com.tr", "ırem@EXAMPLE.com"])
def test_another_letter_is_another_address(settings, typed: str) -> None:
    """Otherwise whoever has the address with ı at the provider would become the user with i."""
    settings.OIDC_JOIN_BY_EMAIL = True
    make_user("irem", "IREM@example.com")
    make_user("irem2", "irem@EXAMPLE.com.de")

    by_reset = LinkRequestForm().get_users(typed)
    by_provider = _with_same_address({"email": typed, "email_verified": True})

    assert (by_reset, by_provider) == ([], None)


@pytest.mark.usefixtures("locale")
def test_of_two_users_whose_addresses_differ_in_case_each_gets_a_link_and_none_is_joined(settings) -> None:
    settings.OIDC_JOIN_BY_EMAIL = True
    users = [make_user("one", "irem@example.com"), make_user("two", "IREM@example.com")]

    by_reset = LinkRequestForm().get_users("Irem@example.com")
    by_provider = _with_same_address({"email": "irem@example.com", "email_verified": True})

    assert sorted(by_reset, key=lambda user: user.pk) == users
    assert by_provider is None


@pytest.mark.usefixtures("locale")
def test_a_new_user_gets_no_name_that_differs_only_in_case() -> None:
    make_user("irem", "")

    assert _free_name("IREM") == "IREM-2"

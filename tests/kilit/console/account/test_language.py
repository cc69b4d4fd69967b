"""English and Turkish, and times in the reader's own zone, for people and never for machines."""

from zoneinfo import ZoneInfo

import polib
import pytest
from django.conf import settings
from django.test import Client
from django.utils import translation
from django.utils.translation import ngettext

from kilit.console.account.preferences import BROWSERS_ZONE, CHOSEN_ZONE
from kilit.console.formatting import number
from kilit.lock.models import Event
from tests.support.commands import ROOT
from tests.support.translatable import sentences

TURKISH = ROOT / "locale" / "tr" / "LC_MESSAGES"
PAGE = "/admin/preferences/"


def messages() -> polib.POFile:
    return polib.pofile(str(TURKISH / "django.po"))


def test_every_sentence_is_translated_and_none_is_a_guess() -> None:
    missing = [entry.msgid for entry in messages() if not entry.obsolete and not entry.translated()]
    guessed = [entry.msgid for entry in messages() if entry.fuzzy]

    assert missing == []
    assert guessed == []


def test_every_sentence_of_the_sources_is_in_the_file() -> None:
    """A new sentence fails here until it has Turkish: `make messages` collects it."""
    known = {text for entry in messages() if not entry.obsolete for text in (entry.msgid, entry.msgid_plural) if text}
    written = sentences()

    assert {text: path for text, path in written.items() if text not in known} == {}
    assert known - set(written) == set()  # what nobody says any more


def test_the_compiled_file_is_made_from_the_one_people_edit() -> None:
    compiled = polib.mofile(str(TURKISH / "django.mo"))

    def by_message(entries) -> dict:
        return {(entry.msgctxt, entry.msgid): entry.msgstr or entry.msgstr_plural for entry in entries}

    assert by_message(compiled) == by_message(entry for entry in messages() if not entry.obsolete)


def test_placeholders_are_the_same_in_both_languages() -> None:
    for entry in messages():
        names = set(_placeholders(entry.msgid)) | set(_placeholders(entry.msgid_plural))
        for text in entry.msgstr_plural.values() if entry.msgid_plural else [entry.msgstr]:
            assert set(_placeholders(text)) == names, entry.msgid


def _placeholders(text: str) -> list[str]:
    """Return the names of values; in Turkish, the singular of a name follows every number."""
    names = [word.partition(")")[0] for word in text.split("%(")[1:]]
    return ["name" if name == "names" else name for name in names]


def test_plurals_and_numbers_are_right_in_both_languages() -> None:
    for language, first, second, grouped in (
        ("en", "Try again in 1 minute.", "Try again in 2 minutes.", "1,234,567"),
        ("tr", "1 dakika sonra yeniden deneyin.", "2 dakika sonra yeniden deneyin.", "1.234.567"),
    ):
        with translation.override(language):
            assert [_minutes(n) for n in (1, 2)] == [first, second]
            assert number(1234567) == grouped


def _minutes(count: int) -> str:
    text = ngettext("Try again in %(minutes)s minute.", "Try again in %(minutes)s minutes.", count)
    return text % {"minutes": count}


@pytest.mark.django_db
def test_the_language_is_switched_by_a_form_and_remembered() -> None:
    client = Client()
    assert "Log in" in client.get("/admin/login/").content.decode()

    answer = client.post("/admin/language/", {"language": "tr", "next": "/admin/login/"})

    assert answer["Location"] == "/admin/login/"
    assert client.cookies["django_language"]["max-age"] == 365 * 24 * 3600
    shown = client.get("/admin/login/").content.decode()
    assert 'lang="tr"' in shown
    assert "Oturum aç" in shown


@pytest.mark.django_db
def test_the_switch_leads_nowhere_else() -> None:
    answer = Client().post("/admin/language/", {"language": "tr", "next": "https://evil.example/"})

    assert answer["Location"] == "/"


@pytest.mark.django_db
def test_times_are_in_the_browsers_zone_until_one_is_chosen(admin_client) -> None:
    assert "Times are in UTC (UTC+00:00)." in " ".join(admin_client.get(PAGE).content.decode().split())

    admin_client.cookies[BROWSERS_ZONE] = "Europe/Istanbul"
    assert "Times are in Europe/Istanbul (UTC+03:00)." in admin_client.get("/admin/").content.decode()

    admin_client.post(PAGE, {"zone": "Asia/Tokyo"})
    assert "Times are in Asia/Tokyo (UTC+09:00)." in admin_client.get("/admin/").content.decode()

    admin_client.post(PAGE, {"zone": ""})
    assert "Times are in Europe/Istanbul" in admin_client.get("/admin/").content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize("made_up", ["Mars/Olympus", "../../etc/passwd", "x" * 3000, ""])
def test_a_made_up_zone_is_ignored(admin_client, made_up: str) -> None:
    admin_client.cookies[CHOSEN_ZONE] = made_up

    assert "Times are in UTC" in admin_client.get("/admin/").content.decode()
    assert admin_client.post(PAGE, {"zone": "Mars/Olympus"}).status_code == 200


@pytest.mark.django_db
def test_a_jobs_times_follow_the_zone_and_the_api_stays_in_utc(client_of, demo, showcase) -> None:
    row = showcase.conversions.filter(status="FAILED").first()
    born = Event.objects.of(row).first().created_at
    operator = client_of("operator")
    operator.cookies[CHOSEN_ZONE] = "Asia/Tokyo"

    page = operator.get(f"/admin/ociqueue/conversion/{row.pk}/change/").content.decode()
    answer = operator.get(f"/api/oci/queue-rows?siteId={showcase.public_id}")

    in_tokyo = born.astimezone(ZoneInfo("Asia/Tokyo"))
    assert f'<time datetime="{in_tokyo.isoformat()}">{in_tokyo:%Y-%m-%d %H:%M:%S}</time>' in page
    assert answer.status_code == 200
    assert "+09:00" not in answer.content.decode()


def test_the_settings_offer_both_languages() -> None:
    assert [code for code, _ in settings.LANGUAGES] == ["en", "tr"]

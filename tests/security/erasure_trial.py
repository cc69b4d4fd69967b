"""The trial of erasure: strangers quote a person everywhere they can, the person is forgotten, and a dump is searched.

`make trial-erasure` starts a database of its own, fills it, erases with `manage.py oci_forget`, and searches the output
of pg_dump for each identifier, in each spelling. It ends with 1 if one is left.
"""

import io
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

EMAIL, PHONE, KEY = "Jane.Doe+promo@gmail.com", "+905321234567", "ORDER-77-JANE"
CLICK_ID = "Cj0KCQiA-7fLBhDKARIsAP8zXk2qErasureErasureErasure_wcB"
IDENTIFIERS = {"--email": EMAIL, "--phone": PHONE, "--click-id": CLICK_ID, "--order-id": KEY}


def in_json(text: str) -> str:
    """Return a text with its special characters escaped, as JSON allows."""
    return "".join(char if char.isalnum() else f"\\u{ord(char):04x}" for char in text)


SPELLINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "upper case": str.upper,
    "lower case": str.lower,
    "in an address": lambda text: quote(text, safe=""),
    "in JSON": in_json,
}
PHONES = ("+90 532 123 45 67", "0532 123 45 67", "905321234567", "00905321234567", "%2B905321234567", "5321234567")


def sentence(spell: Callable[[str], str]) -> str:
    """Return what a stranger says: the key with a mark, because the person's own rows keep the key."""
    said = f"mail {spell(EMAIL)} phone {spell(PHONE)} click {spell(CLICK_ID)} key={spell(KEY)}"
    return f"{said}, {', '.join(PHONES)}"


def traces() -> Iterator[tuple[str, str]]:
    """Yield what must not be left, in small letters, with its name."""
    for name, spell in SPELLINGS.items():
        for value in (EMAIL, PHONE, CLICK_ID, f"key={spell(KEY)}"):
            yield f"{value} ({name})", (value if "=" in value else spell(value)).lower()
    for phone in PHONES:
        yield phone, phone.lower()


def left_in(text: str) -> list[str]:
    small = re.sub(r"\\+", r"\\", text.lower())  # each layer of JSON, and the dump itself, doubles backslashes
    return [name for name, trace in traces() if trace in small]


def fill() -> None:
    """Store a person's conversions, and let a script, a receiver and operators quote the person at other rows."""
    from django.contrib.auth.models import User

    from ociqueue.models import Site
    from ociqueue.values.identifiers import hash_email, hash_phone
    from tests.support.conversions import make_completed

    User.objects.create_superuser("admin", password="trial")
    site = Site.objects.create(name="Mobilya", default_currency="TRY")
    data_manager, ads = hash_email(EMAIL)
    make_completed(
        site, gclid=CLICK_ID, hashed_email=data_manager, hashed_email_ads=ads, hashed_phone=hash_phone(PHONE)
    )
    make_completed(site, gclid="Cj0KCQ-of-her-order", source_key=KEY)
    _subscribe(site)
    for spell in SPELLINGS.values():
        _report_by_script(site, sentence(spell))
        _store_as_before_masking(site, sentence(spell))
    _ask_with_a_wrong_key()
    _let_receivers_answer()
    _let_operators_write(site)


def _subscribe(site: Any) -> None:
    from outbox.models import Endpoint

    kinds = ["conversion.failed", "adjustment.failed", "circuit.opened", "site.paused"]
    Endpoint.objects.create(url="https://shop.example/hook", kinds=kinds, description=f"for {EMAIL}")


def _report_by_script(site: Any, said: str) -> None:
    """Report failures and Google's counts over the API, as a script may."""
    from tests.support.api import Api
    from tests.support.conversions import new_conversion

    new_conversion(site, gclid="Cj0KCQ-of-somebody-else").save()
    api = Api(site.issue_key(name="trial"))
    ids = [item["id"] for item in api.claim(site)]
    code = said.partition(" phone")[0].removeprefix("mail ")[:64]
    failure = {"queueIds": ids, "errorCode": code, "errorMessage": said, "errorCategory": "VALIDATION"}
    assert api.post("oci/ack-failed", {"siteId": site.public_id, **failure}).json()["updated"] == len(ids)
    counts = {"successful": 1, "failed": 0, "pending": 0, "client": "GOOGLE_ADS_WEB_CLIENT"}
    day = {"day": "2026-11-15", "actionId": 7, "actionName": said[:60], **counts}
    alert = {"error": said[:60], "share": 0.5, "client": counts["client"], "action": said[:60]}
    account = {"customerId": "1234567890", "timeZone": "Europe/Istanbul"}
    answer = api.post("oci/upload-summary", {"siteId": site.public_id, **account, "days": [day], "alerts": [alert]})
    assert answer.status_code == 200, answer.content


def _store_as_before_masking(site: Any, said: str) -> None:
    """Store what a script said before reports were masked, what Google says, and adjustments."""
    from ociqueue.models import Adjustment, Circuit, ReadBack, UploadBatch
    from ociqueue.states import Category
    from tests.support.conversions import make_completed, make_failed
    from tests.support.erasure import adjust

    make_failed(site, gclid="Cj0KCQ-of-somebody-else", code=EMAIL, message=said)
    adjustment = adjust(make_completed(site, gclid="Cj0KCQ-of-somebody-else"))
    Adjustment.objects.filter(pk=adjustment.pk).mark_failed(reason=said)
    Circuit.objects.trip(site, code="X", category=Category.AUTH, reason=said)
    Circuit.objects.close()
    UploadBatch.objects.create(site=site, size=1, note=said)
    ReadBack.objects.note(site, error=said)


def _ask_with_a_wrong_key() -> None:
    """Ask with a wrong key."""
    from django.test import Client

    for text in (EMAIL, PHONE, CLICK_ID):
        Client().get(f"/api/pdf/jobs/{text}", headers={"x-api-key": "wrong"})
        Client().get("/api/oci/conversions", {"sourceKey": text}, headers={"x-api-key": "wrong"})


def _let_receivers_answer() -> None:
    from outbox import log_reader
    from outbox.models import Attempt, OutboxMessage

    log_reader.read_log()
    for number, message in enumerate(OutboxMessage.objects.all(), 1):
        for at, spell in enumerate(SPELLINGS.values(), 1):
            texts = {"answer": sentence(spell), "error_message": sentence(spell)[:500]}
            Attempt.objects.create(
                message_id=message.pk, number=at, seconds=number, url="https://shop.example", **texts
            )


def _let_operators_write(site: Any) -> None:
    """Move rows for a reason, pause the site, and import a file with bad lines."""
    from kilit.lock.audit import acting_as
    from kilit.problems.tracking import track_problems
    from kilit.workers.models import SweepRun
    from ociqueue.models import Conversion
    from tests.support.erasure import make_import

    others = Conversion.objects.filter(gclid="Cj0KCQ-of-somebody-else")
    with acting_as("operator:ayse", reason=sentence(str)):
        others.retry_selected()
        others.mark_failed(reason=sentence(str))
    make_import(site, sentence(str))
    SweepRun.note("oci_upload", result=sentence(str))
    track_problems()


def forget_person() -> None:
    from django.core.management import call_command

    for option, value in IDENTIFIERS.items():
        call_command("oci_forget", f"{option}={value}", stdout=io.StringIO(), stderr=io.StringIO())


def dump() -> str:
    """Return what pg_dump writes, and the sessions, which are encoded there."""
    from django.contrib.sessions.models import Session

    from kilit.backup.programs import find_program

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "dump.sql"
        find_program("pg_dump").run("--format=plain", "--data-only", f"--file={path}")
        return path.read_text() + json.dumps([session.get_decoded() for session in Session.objects.all()])


def run() -> int:
    from django import setup
    from django.core.management import call_command
    from django.test.utils import setup_test_environment

    setup()
    setup_test_environment()
    call_command("migrate", verbosity=0)
    fill()
    before = left_in(dump())
    forget_person()
    left = left_in(dump())
    sys.stdout.writelines(f"{'LEFT  ' if name in left else 'erased'}  {name}\n" for name in before)
    sys.stdout.write(f"{len(before)} spellings were in the dump before, {len(left)} are left.\n")
    return 1 if left or not before else 0


def main() -> int:
    """Run the trial with a server that is started for it, and removed at the end."""
    from kilit.postgres.binaries import bundled_programs
    from tests.support.private_server import private_server

    with tempfile.TemporaryDirectory() as room, private_server(bundled_programs()[0]) as url:
        given = {"DATABASE_URL": url("postgres"), "KILIT_VAR": room, "KILIT_LOGS": "json"}
        os.environ.update({"DJANGO_SETTINGS_MODULE": "tests.settings", **given})
        return run()


if __name__ == "__main__":
    sys.exit(main())

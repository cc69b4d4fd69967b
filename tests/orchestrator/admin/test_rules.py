"""The page of the rules: what is in force, a check of a new version, and saving it with a history."""

import json
import stat
import threading
from pathlib import Path

import pytest
from django.db import DatabaseError, transaction

from kilit.lock.models import Activity, ActivityKind
from kilit.problems.registry import find_problems
from orchestrator.errors import Code
from orchestrator.models import Job, RulesVersion
from orchestrator.planning.plan import MissingRule
from orchestrator.planning.rules import current_rules
from orchestrator.planning.rules_history import RulesChanged, changes, digest, save_rules, with_entry
from tests.support.cutting_jobs import ARKALIK, GOVDE, failed, held, page_of
from tests.support.cutting_rules import PAGE, SHIPPED, sent, text_with, trims
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.django_db


def test_the_page_shows_the_rules_in_words_and_their_file(make_person, rules_file) -> None:
    shown = make_person(role="viewer").get(PAGE)

    assert shown.status_code == 200
    for text in (
        str(rules_file),
        "18 mm → 10 mm",
        "040 → 0.4 mm",
        "2100 × 2800 mm",
        "has not been saved from the console yet",
    ):
        assert text in shown.text
    assert "<textarea" not in shown.text


def test_a_check_lists_every_fault_with_its_line_and_path(make_person, rules_file) -> None:
    wrong = text_with(trimByThickness={"18": -1}, optiModeDefault="Z")

    shown = make_person().post(PAGE, sent(rules_file, wrong))

    faults = shown.context["check"].faults
    assert [fault.split(": ")[1] for fault in faults] == ["trimByThickness.18", "optiModeDefault"]
    assert all(fault.startswith("line 1: ") for fault in faults)
    assert 'name="save"' not in shown.text


def test_a_check_shows_the_difference_and_what_becomes_of_held_jobs(make_person, rules_file) -> None:
    held(Code.TRIM_RULE_MISSING, order_id="S-16", parts=[{**GOVDE, "thickness_mm": 16}])
    held(Code.TRIM_RULE_MISSING, order_id="S-22", parts=[{**GOVDE, "thickness_mm": 22}])

    shown = make_person().post(PAGE, sent(rules_file, text_with(trimByThickness=trims(_16=8))))

    check = shown.context["check"]
    assert [(each.path, each.before, each.after) for each in check.changes] == [("trimByThickness.16", "", "8")]
    assert [(each.job.order_id, each.error) for each in check.tried] == [
        ("S-16", ""),
        ("S-22", "Part g1: no trim rule for 22 mm in trimByThickness."),
    ]
    assert json.loads(rules_file.read_text()) == SHIPPED
    assert not RulesVersion.objects.exists()


def test_an_owner_saves_and_runners_read_it_at_once(make_person, rules_file) -> None:
    rules_file.chmod(0o640)
    before, new = rules_file.read_text(), text_with(trimByThickness=trims(_16=8))
    assert 16 not in current_rules().trim_by_thickness

    answer = make_person(role="owner").post(PAGE, sent(rules_file, new, "save"), follow=True)

    assert "Saved. The rules apply" in answer.text
    assert "Saved by ayse" in answer.text
    assert rules_file.read_text() == new
    assert stat.S_IMODE(rules_file.stat().st_mode) == 0o640
    assert current_rules().trim_by_thickness[16] == 8
    found, saved = RulesVersion.objects.order_by("pk")
    assert (found.actor, found.content) == ("", before), "what was there before can be restored"
    assert "The file as it was found on the disk." in answer.text
    assert (saved.actor, saved.reason, saved.content) == ("admin:ayse", "new board", new)
    activity = Activity.objects.get(kind=ActivityKind.RULES)
    assert (activity.person, activity.message, activity.object_id) == ("ayse", "new board", str(saved.pk))
    assert [each.name for each in rules_file.parent.iterdir()] == [rules_file.name], "no temporary file stays"


def test_rules_that_did_not_change_make_no_version(make_person, rules_file) -> None:
    text = rules_file.read_text().replace("\n", "\r\n")  # as a browser sends it

    answer = make_person(role="owner").post(PAGE, sent(rules_file, text, "save"), follow=True)

    assert "Nothing was saved: these are the rules in force." in answer.text
    assert not RulesVersion.objects.exists()
    assert not Activity.objects.filter(kind=ActivityKind.RULES).exists()


@pytest.mark.parametrize(
    ("role", "button"), [("viewer", "check"), ("viewer", "save"), ("operator", "save"), ("admin", "save")]
)
def test_who_may_not_check_or_save_rules_is_refused(make_person, rules_file, role, button) -> None:
    answer = make_person(role=role).post(PAGE, sent(rules_file, text_with(retry_count_max=2), button))

    assert answer.status_code == 403
    assert json.loads(rules_file.read_text()) == SHIPPED


def test_a_version_made_from_rules_no_longer_in_force_is_refused(make_person, rules_file) -> None:
    owner = make_person(role="owner")
    stale = sent(rules_file, text_with(retry_count_max=2), "save")
    rules_file.write_text(text_with(retry_count_max=1))

    answer = owner.post(PAGE, stale)

    assert "Not saved: the rules were changed meanwhile" in answer.text
    assert [(each.before, each.after) for each in answer.context["check"].changes] == [("1", "2")]
    assert json.loads(rules_file.read_text())["retry_count_max"] == 1
    assert not RulesVersion.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_of_four_that_save_at_once_one_wins(rules_file, in_threads) -> None:
    base = digest(rules_file.read_bytes())
    start = threading.Barrier(4)

    def save(number: int) -> bool:
        start.wait(timeout=PATIENCE)
        try:
            save_rules(text_with(retry_count_max=number % 3).encode(), based_on=base, reason=f"{number}")
        except RulesChanged:
            return False
        return True

    assert in_threads(save, count=4).count(True) == 1
    found, saved = RulesVersion.objects.order_by("pk")
    assert (found.reason, saved.content) == ("", rules_file.read_text())


@pytest.mark.parametrize("wrong", [{"reason": ""}, {"content": "{"}])
def test_invalid_rules_and_a_missing_reason_are_not_saved(make_person, rules_file, wrong) -> None:
    answer = make_person(role="owner").post(PAGE, sent(rules_file, text_with(retry_count_max=2), "save") | wrong)

    assert answer.status_code == 200
    assert json.loads(rules_file.read_text()) == SHIPPED


def test_a_file_that_cannot_be_written_is_reported_and_leaves_no_version(make_person, rules_file, settings) -> None:
    # A temporary file beside it has too long a name.
    settings.OPTI_RULES = rules_file.rename(rules_file.with_name("r" * 250))

    answer = make_person(role="owner").post(PAGE, sent(settings.OPTI_RULES, text_with(retry_count_max=2), "save"))

    assert "The file could not be written." in answer.text
    assert not RulesVersion.objects.exists()


def test_a_change_by_hand_is_shown_as_such(make_person, rules_file) -> None:
    owner = make_person(role="owner")
    owner.post(PAGE, sent(rules_file, text_with(retry_count_max=2), "save"))
    rules_file.write_text(text_with(retry_count_max=1))

    shown = owner.get(PAGE).text

    assert "changed outside the console" in shown
    assert "The file was changed by hand" in shown


def test_an_invalid_file_is_shown_with_its_faults(make_person, rules_file) -> None:
    rules_file.write_text('{"cm_to_mm_multiplier": 10')

    shown = make_person().get(PAGE)

    assert shown.status_code == 200
    assert "The file is invalid." in shown.text
    assert "line 1: " in shown.text


def test_an_earlier_version_is_restored_by_saving_it_again(make_person, rules_file) -> None:
    owner = make_person(role="owner")
    owner.post(PAGE, sent(rules_file, text_with(retry_count_max=2), "save"))
    first = RulesVersion.objects.earliest("pk")
    version = owner.get(f"{PAGE}{first.pk}/change/")
    assert "Restore this version" in version.text

    draft = owner.get(version.context["restore"])
    owner.post(PAGE, sent(rules_file, draft.context["form"]["content"].value(), "save"))

    assert [each.before for each in draft.context["check"].changes] == ["2"]
    assert json.loads(rules_file.read_text()) == SHIPPED
    assert RulesVersion.objects.count() == 3


@pytest.mark.django_db(transaction=True)
def test_versions_are_never_changed_or_deleted() -> None:
    version = RulesVersion.objects.create(sha256="0" * 64, content="{}")

    for change in (lambda: RulesVersion.objects.update(reason="other"), version.delete):
        with pytest.raises(DatabaseError, match="cannot be"), transaction.atomic():
            change()


def test_a_held_job_leads_to_the_rules_with_what_it_lacks(make_person, rules_file) -> None:
    owner = make_person(role="owner")
    job = held(
        Code.TRIM_RULE_MISSING, parts=[{**GOVDE, "thickness_mm": 33, "edge_up": "3mm"}, {**ARKALIK, "thickness_mm": 6}]
    )

    primary = page_of(owner, job).context["primary"]
    assert str(primary.title) == "Rules: add trim for 33 mm and 3 more"
    shown = owner.get(primary.href)

    assert [text for _, text, _ in shown.context["missing"]] == [
        "trim for 33 mm",
        "edge “3mm”",
        "backing of 6 mm",
        "trim for 6 mm",
    ]
    assert "missing: trim for 33 mm" in shown.text
    values = {"add-0": "10", "add-1": "3", "add-2": "1", "add-3": "5"}
    added = owner.post(primary.href, sent(rules_file, rules_file.read_text(), "add", **values))
    draft = added.context["form"]["content"].value()
    saved = owner.post(primary.href, sent(rules_file, draft, "save"), follow=True)
    assert f"1 job continues: {job.order_id}" in saved.text
    assert Job.objects.get(pk=job.pk).status == "NEW"


def test_one_rule_is_added_for_all_jobs_that_wait_for_it(make_person, rules_file, admin_user) -> None:
    lack = [{**GOVDE, "thickness_mm": 33}]
    jobs = [held(Code.TRIM_RULE_MISSING, order_id=f"S-{number}", parts=lack) for number in range(10)]
    other = held(Code.BACKING_THICKNESS_UNKNOWN, order_id="S-10", parts=[{**ARKALIK, "thickness_mm": 6}])
    lines = [each for each in find_problems(admin_user) if each.kind == "hold"]
    action = next(line.action for line in lines if line.count == 10)
    assert action.label == "Rules: add trim for 33 mm"
    owner = make_person(role="owner")
    shown = owner.get(action.link)
    assert [text for _, text, _ in shown.context["missing"]] == ["trim for 33 mm"]

    added = owner.post(action.link, sent(rules_file, rules_file.read_text(), "add", **{"add-0": "10"}))
    saved = owner.post(action.link, sent(rules_file, added.context["form"]["content"].value(), "save"), follow=True)

    assert "10 jobs continue: S-0, S-1, S-2, S-3, S-4 …" in saved.text
    assert {Job.objects.get(pk=job.pk).status for job in jobs} == {"NEW"}
    assert Job.objects.get(pk=other.pk).status == "HOLD"


def test_a_job_failed_for_an_unknown_edge_leads_to_the_rules(make_person, rules_file) -> None:
    job = failed(Code.EDGE_MAPPING_UNKNOWN, parts=[{**GOVDE, "edge_up": "3mm"}])

    primary = page_of(make_person(), job).context["primary"]

    assert str(primary.title) == "Rules: add edge “3mm”"


def test_entries_are_added_to_a_text_without_changing_its_layout() -> None:
    text = '{\n  "trimByThickness": {\n    "18": 10\n  },\n  "edgeMapping": {},\n  "backingThicknesses": [3, 4]\n}'

    text = with_entry(text, MissingRule("trimByThickness", "33"), "10,5")
    text = with_entry(text, MissingRule("edgeMapping", 'a "b"'), "3")
    text = with_entry(text, MissingRule("backingThicknesses", "6"), "1")

    assert json.loads(text) == {
        "trimByThickness": {"33": 10.5, "18": 10},
        "edgeMapping": {'a "b"': 3},
        "backingThicknesses": [6, 3, 4],
    }
    assert with_entry(text, MissingRule("trimByThickness", "16"), "ten") == text
    assert with_entry("{", MissingRule("trimByThickness", "16"), "10") == "{"
    assert changes(text, text.replace("\n", "")) == []


def test_rules_saved_from_the_console_outlive_an_upgrade(make_person, settings, tmp_path) -> None:
    """The shipped file is replaced with the product, so it is never written."""
    settings.KILIT_VAR = tmp_path
    shipped, before = Path(settings.OPTI_RULES), Path(settings.OPTI_RULES).read_bytes()

    owner = make_person(role="owner")

    owner.post(PAGE, sent(shipped, text_with(retry_count_max=2), "save"))

    assert shipped.read_bytes() == before
    assert current_rules().retry_count_max == 2
    assert json.loads((tmp_path / "rules.json").read_text())["retry_count_max"] == 2
    page = owner.get(PAGE).content.decode()
    assert str(tmp_path / "rules.json") in page
    assert "Saved by ayse" in page

"""Several saws: which one cuts a job, whose folder its file is in, and that it is never at two of them."""

import json
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from django.db import IntegrityError

from kilit.api.errors import ApiError
from kilit.lock.models import Event
from kilit.sentences import english
from orchestrator.errors import Code, JobError
from orchestrator.folders import Folders
from orchestrator.models import Job
from orchestrator.planning.rules import InvalidRules, current_rules, read_new_rules, read_rules
from orchestrator.saw import delivery, saw_handover
from orchestrator.saw.leftovers import LeftoverWatch
from orchestrator.workflow import decisions, saws, steps
from orchestrator.workflow.preflight import CheckLevel, preflight
from orchestrator.workflow.runner import tick
from orchestrator.workflow.saw_choice import choose_saw
from tests.support.cutting_handover import too_late
from tests.support.cutting_jobs import CUTTING_JOBS, GOVDE, LIST, make_job, page_of
from tests.support.cutting_rules import SAWS, SHIPPED
from tests.support.cutting_runs import due_again, let_leases_lapse, player, work_until
from tests.support.floor import age
from tests.support.kills import KILLED, after, fork
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.django_db
FITS_SMALL = {"plate_size": {"width_mm": 1830, "height_mm": 2440}}
FITS_NONE = {"plate_size": {"width_mm": 2100, "height_mm": 4100}}


@pytest.fixture
def shop(floor, settings, rules_file, customer, at_rest_at_once) -> Folders:
    """Lay out a shop with three saws: a small one at KILIT_SAW, a large one, and one that people feed."""
    settings.SAW_FOLDERS = {"Large": floor.saw.with_name("large")}
    for folder in Folders.from_settings().all().values():
        folder.mkdir(parents=True, exist_ok=True)
    rules_file.write_text(json.dumps({**SHIPPED, "saws": SAWS}))
    return Folders.from_settings()


def files(saw: str) -> list[str]:
    """Return the names of what a saw has or may take."""
    folders = Folders.at(saw)
    return [path.name for folder in (folders.inbox, folders.processed) for path in folder.glob("[!.]*")]


def ordered(**order: Any) -> Job:
    return make_job(opti_mode="C", **order)


def run(job: Job, *states: str, with_saws: bool = False) -> Job:
    """Work until a job is in one of the states; OptiPlanning is started when it is asked for."""
    machines = player(Folders.from_settings(), only="saw") if with_saws else None
    if work_until(job, *states, "HOLD", machines=machines).error_code == Code.OPERATOR_TRIGGER_REQUIRED:
        player(Folders.from_settings(), only="opti").look()
        decisions.approve(job.pk)
        work_until(job, *states, machines=machines)
    return job


def done(job: Job) -> Job:
    due_again(job)
    return run(job, "DONE", with_saws=True)


def checked(**order: Any) -> Job:
    """Return a job that is about to be delivered."""
    with patch.dict(steps.STEPS, {"XML_READY": lambda *_: timedelta(0)}):
        job = ordered(**order)
        work_until(job, "HOLD")
        player(Folders.from_settings(), only="opti").look()
        decisions.approve(job.pk)
        tick(patient=True, stopping=Job.objects.filter(status="XML_READY").exists)
    due_again(job)
    return refreshed(job)


def at_the_saw(**order: Any) -> Job:
    job = checked(**order)
    tick(patient=True)
    return refreshed(job)


def refreshed(job: Job) -> Job:
    job.refresh_from_db()
    return job


def test_the_first_saw_that_fits_takes_a_job_in_its_own_folder(shop) -> None:
    small, large = ordered(**FITS_SMALL), ordered(order_id="S-2")

    for job in (small, large):
        done(job)

    assert [(job.saw, job.saw_is_chosen, job.by_hand) for job in (small, large)] == [
        ("Small", False, False),
        ("Large", False, False),
    ]
    assert (files("Small"), files("Large")) == (small.delivery_names, large.delivery_names)
    messages = map(english, Event.objects.of(large).values_list("message", flat=True))
    assert "The solution was checked. It goes to Large." in messages


def test_a_large_board_beyond_those_that_are_drawn_decides_which_saw_takes_it(shop) -> None:
    job = checked(**FITS_SMALL)
    small, large = (f'<Pattern length="{length}" width="1830" boards="1"/>' for length in (2440, 2800))
    content = f'<Solution best="1">{small * 60}{large}</Solution>'.encode()
    job.solution_files.update(content=content, sha256="1" * 64)

    sides = saws.boards_of(job, current_rules()).sides

    assert sides[0] == 2800


def test_people_cut_what_is_for_a_saw_that_they_feed(shop) -> None:
    job = run(ordered(parts=[{**GOVDE, "material_code": "HPL"}]), "XML_READY")

    assert (job.saw, job.by_hand, job.claim_token) == ("By hand", True, None)
    assert tick(patient=True) == 0
    assert choose_saw_refused(job.pk, "Small") == Code.NO_SAW


def test_without_a_list_of_saws_nothing_is_decided_or_shown(shop, rules_file, make_person) -> None:
    rules_file.write_text(json.dumps(SHIPPED))
    job = done(ordered())

    assert (job.saw, job.by_hand) == ("", False)
    assert files("Small") == job.delivery_names
    owner = make_person(role="owner")
    waiting = ordered(order_id="S-2")
    assert ">Saw<" not in owner.get(LIST).text + page_of(owner, waiting).text + owner.get(f"{LIST}days/").text
    assert "Choose the saw" not in page_of(owner, waiting).text
    assert "its saw is decided" in owner.get(f"{LIST}{waiting.pk}/saw/", follow=True).text


def test_a_job_that_fits_no_saw_waits_and_goes_on_when_one_is_chosen(shop, make_person) -> None:
    job = run(ordered(parts=[{**GOVDE, "material_code": "CAM"}]), "HOLD")
    message = english(job.error_message)
    assert job.error_code == "E_NO_SAW"
    assert "No saw is for plates of 2800 × 2100 × 18 mm, CAM." in message
    assert "Small takes 2500 × 1900 × ∞ mm. Large is for MAT-01, MAT-02." in message
    operator = make_person()
    shown = page_of(operator, job).text
    assert "Choose the saw" in shown
    assert '<option value="Large" selected' in shown

    answer = operator.post(f"{LIST}{job.pk}/saw/", {"saw": "Large", "reason": "glass is fine"}, follow=True)

    assert "The saw was chosen." in answer.text
    assert "the first that fits → Large" in answer.text
    chosen = Event.objects.of(job).get(event_type="SAW_CHOSEN")
    assert (chosen.message, chosen.details) == ("glass is fine", {"before": "", "after": "Large"})
    assert refreshed(job).status == "NEW"
    done(job)
    assert files("Large") == job.delivery_names
    assert make_person("veli", role="viewer").get(f"{LIST}{job.pk}/saw/").status_code == 403


def choose_saw_refused(pk: object, name: str) -> str:
    with pytest.raises(ApiError) as refused:
        choose_saw(pk, name)
    return str(refused.value.code)


def test_no_one_chooses_a_saw_that_is_too_small_or_is_not_there(shop) -> None:
    job = ordered()

    assert choose_saw_refused(job.pk, "Small") == Code.NO_SAW
    assert choose_saw_refused(job.pk, "Other") == Code.NO_SAW
    held = run(ordered(order_id="S-2", saw="Small", **FITS_NONE), "HOLD")
    assert held.error_code == "E_NO_SAW"


def test_a_job_goes_to_another_saw_after_the_first_did_not_take_it(shop) -> None:
    """The file is taken back from the first before the job fails, and the second gets the same solution."""
    job = at_the_saw(**FITS_SMALL)
    assert files("Small") == job.open_deliveries
    assert choose_saw_refused(job.pk, "Large") == "SAW_IS_DECIDED"
    too_late(job)
    tick(patient=True)
    assert (refreshed(job).status, job.error_code, files("Small")) == ("FAILED", "E_OSI_ACK_TIMEOUT", [])

    choose_saw(job.pk, "Large")
    decisions.retry(job.pk)
    done(job)

    assert (job.saw, files("Small"), len(files("Large"))) == ("Large", [], 1)


@pytest.mark.parametrize("is_taken", [True, False])
def test_a_file_at_another_saw_is_found_before_a_job_is_delivered_again(shop, is_taken) -> None:
    """Someone put the withdrawn file back into the first saw's inbox; the saw may have taken it by now."""
    job = at_the_saw(**FITS_SMALL)
    (name,), content = job.open_deliveries, next(shop.inbox.iterdir()).read_bytes()
    too_late(job)
    tick(patient=True)
    choose_saw(job.pk, "Large")
    decisions.retry(job.pk)
    ((shop.processed if is_taken else shop.inbox) / name).write_bytes(content)

    done(job)

    assert (len(files("Small")), len(files("Large"))) == ((1, 0) if is_taken else (0, 1))


@pytest.mark.parametrize("is_taken", [True, False])
def test_people_cut_nothing_that_a_saw_has_or_may_take(shop, is_taken) -> None:
    """The saw's share was away when its file was to be taken back, and someone said that it was not cut."""
    job = at_the_saw(**FITS_SMALL)
    (name,), too_early = job.open_deliveries, patch.object(Path, "replace", side_effect=PermissionError(13, "no"))
    too_late(job)
    with too_early:
        tick(patient=True)
    if is_taken:
        (shop.inbox / name).rename(shop.processed / name)
    decisions.hand_over(job.pk)
    choose_saw(job.pk, "By hand")

    run(job, "XML_READY", "DONE")

    assert (job.status, job.by_hand) == (("DONE", False) if is_taken else ("XML_READY", True))
    assert len(files("Small")) == is_taken


def test_another_saw_is_not_chosen_while_the_first_may_have_the_file(shop) -> None:
    job = at_the_saw(**FITS_SMALL)
    too_late(job)
    with patch.object(Path, "replace", side_effect=PermissionError(13, "Permission denied")):
        tick(patient=True)
    assert refreshed(job).error_code == "E_HANDOVER_UNKNOWN"

    assert choose_saw_refused(job.pk, "Large") == "SAW_IS_DECIDED"
    with pytest.raises(IntegrityError, match="who cuts it"):
        CUTTING_JOBS.write(job, "saw = 'Large'")

    decisions.hand_over(job.pk)
    choose_saw(job.pk, "Large")  # the first saw's file is taken back before
    done(job)
    assert (files("Small"), len(files("Large"))) == ([], 1)


def test_a_saw_whose_share_is_away_is_waited_for_if_it_had_an_earlier_file(shop) -> None:
    job = at_the_saw(**FITS_SMALL)
    too_late(job)
    tick(patient=True)
    choose_saw(job.pk, "Large")
    decisions.retry(job.pk)
    other = run(ordered(order_id="S-2"), "XML_READY")
    away = shop.saw.rename(shop.saw.with_name("away"))

    for each in (job, other):
        due_again(each)
        run(each, "OPTI_DONE", "XML_READY", "FAILED", "DELIVERED")
    tick(patient=True)
    player(Folders.at("Large"), only="saw")._cut(Folders.at("Large"))
    due_again(other)
    run(other, "DONE")

    assert (refreshed(job).status, job.handed_at) == ("OPTI_DONE", None)
    assert files("Large") == other.delivery_names
    away.rename(shop.saw)
    done(job)


@pytest.mark.parametrize(
    ("state", "changes"),
    [
        ("XML_READY", "saw = 'Large'"),
        ("DELIVERED", "saw = 'Large'"),
        ("DONE", "saw = 'Large'"),
        ("XML_READY", "saw = 'Large', status = 'FAILED', error_code = 'E_UNKNOWN'"),
        ("FAILED", "saw = 'Large', open_deliveries = '[\"x\"]', error_code = 'E_HANDOVER_UNKNOWN'"),
    ],
)
def test_the_database_keeps_the_saw_that_was_decided(state, changes) -> None:
    job = CUTTING_JOBS.row_in(state)

    with pytest.raises(IntegrityError, match="who cuts it"):
        CUTTING_JOBS.write(job, changes)


@pytest.mark.parametrize(("is_in_time", "saw"), [(True, "Large"), (False, "Small")])
@pytest.mark.django_db(transaction=True)
def test_a_choice_and_the_check_of_a_plan_wait_for_each_other(shop, in_threads, monkeypatch, is_in_time, saw) -> None:
    """Either the choice is in time and holds, or it is refused: none is lost."""
    job, checks, has_chosen = ordered(**FITS_SMALL), threading.Event(), threading.Event()

    def check(row: Job) -> tuple[str, bool]:
        decided = None if is_in_time else saws.who_cuts(row)
        checks.set()
        has_chosen.wait(PATIENCE if is_in_time else 0.3)  # while the row is locked, the other waits
        return decided or saws.who_cuts(row)

    def act(number: int) -> str:
        if number:
            return run(Job.objects.get(pk=job.pk), "XML_READY").saw
        assert checks.wait(PATIENCE)
        try:
            return choose_saw(job.pk, "Large").saw
        except ApiError as refused:
            return str(refused.code)
        finally:
            has_chosen.set()

    monkeypatch.setattr(steps, "who_cuts", check)

    assert in_threads(act, count=2) == [saw if is_in_time else "SAW_IS_DECIDED", saw]


@pytest.mark.processes
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("point", ["record_delivery", "place"])
def test_a_runner_that_is_killed_while_it_delivers_leaves_the_file_to_one_saw(shop, point) -> None:
    job = checked(**FITS_SMALL)
    place = saw_handover if point == "record_delivery" else delivery
    assert fork(lambda: run(job, "DONE"), after(place, point)) == KILLED
    let_leases_lapse()
    assert choose_saw_refused(job.pk, "Large") == "SAW_IS_DECIDED"

    run(job, "DONE", "FAILED", with_saws=True)

    if job.status == "FAILED":  # recorded, and nobody knows whether the saw took it
        assert (job.error_code, point) == ("E_HANDOVER_UNKNOWN", "record_delivery")
        decisions.hand_over(job.pk)
        choose_saw(job.pk, "Large")
        done(job)
    assert len(files("Small")) + len(files("Large")) == 1


def test_hidden_files_are_removed_at_each_saw(shop) -> None:
    old = [age(folders.inbox / ".kilit-x.part", 7200) for folders in _with_leftovers(shop)]

    LeftoverWatch().look()

    assert not any(path.exists() for path in old)


def _with_leftovers(shop: Folders) -> list[Folders]:
    folders = shop.at_each_saw()
    for each in folders:
        (each.inbox / ".kilit-x.part").touch()
    return folders


def test_a_second_saw_needs_a_folder_of_its_own(shop, settings, rules_file) -> None:
    """The rules in force apply nevertheless, but nothing is delivered into the folder of another saw."""
    job = checked()
    settings.SAW_FOLDERS = {}
    text = rules_file.read_bytes()

    with pytest.raises(InvalidRules, match=r"saws\.1\.name: This saw has no folder"):
        read_new_rules(text)

    assert read_rules(text)
    assert [check.message for check in preflight() if check.level == CheckLevel.FAIL] == [
        "Large has no folder on this machine (KILIT_SAWS)."
    ]
    tick(patient=True)
    assert (refreshed(job).status, job.error_code, files("Small")) == ("FAILED", "E_NO_SAW", [])
    with pytest.raises(JobError, match="has no folder"):
        saws.hold_without_saw(job)
    settings.FLOOR_IS_HERE = False
    assert read_new_rules(text)


@pytest.mark.parametrize(
    "changed", [[], [SAWS[0]], [SAWS[0], {"name": "Large", "byHand": True}]], ids=["no list", "not in it", "by hand"]
)
def test_a_file_of_a_saw_that_is_gone_is_not_given_to_another(shop, settings, rules_file, changed) -> None:
    job = checked()
    assert job.saw == "Large"
    settings.SAW_FOLDERS = {}
    rules_file.write_text(json.dumps({**SHIPPED, "saws": changed}))

    tick(patient=True)

    assert (refreshed(job).status, job.error_code, files("Small")) == ("FAILED", "E_NO_SAW", [])
    assert english(job.error_message) == "Large has no folder on this machine (KILIT_SAWS)."


def test_the_list_and_the_page_of_a_job_show_its_saw(shop, make_person) -> None:
    operator = make_person()
    named, other = ordered(saw="Large"), ordered(order_id="S-2")

    shown = operator.get(f"{LIST}?saw=Large").text

    assert str(named.pk) in shown
    assert str(other.pk) not in shown
    assert ">Large<" in page_of(operator, named).text.replace("\n", "").replace(" ", "")

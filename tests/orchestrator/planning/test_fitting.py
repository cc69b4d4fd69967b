"""Parts that are larger than the plate are refused by name; what the rules made too large since is flagged."""

import json

import pytest

from kilit.problems.registry import find_problems
from orchestrator.models import Job
from orchestrator.orders.enqueue import enqueue
from orchestrator.orders.order import read_order
from orchestrator.planning.fitting import NO_WARNING, fit_warning, refuse_oversized
from orchestrator.schemas.orders import InvalidOrder
from orchestrator.schemas.rules import Rules
from orchestrator.workflow.runner import tick
from tests.support.cutting_jobs import GOVDE, LIST, error, make_job, order_body
from tests.support.cutting_rules import SHIPPED, rules_with

pytestmark = pytest.mark.django_db

# The default plate is 2100 × 2800 mm, the trim of 18 mm is 10 mm.
LARGE = {**GOVDE, "id": "door", "length_cm": 300, "width_cm": 40}
MESSAGE = "Larger than the plate of 2100 × 2800 mm: door"


def warned(*parts, rules: Rules | None = None, **changes) -> list[str]:
    order = read_order(order_body(parts=list(parts), **changes), default_mode="C")
    return (fit_warning(order, rules or rules_with())["warning_details"] or {}).get("parts", [])


def part(length: float, width: float, grain: int = 0) -> dict:
    return {**GOVDE, "id": "p", "length_cm": length, "width_cm": width, "grain": grain}


def large_job(**changes) -> Job:
    order = read_order(order_body(parts=[GOVDE, LARGE], **changes), default_mode="C")
    job = enqueue(order)[0]
    Job.objects.filter(pk=job.pk).update(**fit_warning(order, rules_with()))
    job.refresh_from_db()
    return job


@pytest.mark.parametrize(
    ("length", "width", "grain", "fits"),
    [
        (279, 209, 0, True),
        (209, 279, 0, True),
        (279.1, 209, 0, False),
        (279, 209.1, 0, False),
        (279, 209, 1, True),
        (209, 279, 1, False),
        (209, 279, 2, True),
        (279, 209, 2, False),
        (209, 279, 3, True),
    ],
)
def test_a_part_fits_on_the_plate_less_the_trim_unless_its_grain_forbids_to_turn_it(length, width, grain, fits) -> None:
    assert warned(part(length, width, grain)) == ([] if fits else ["p"])


def test_the_plate_of_the_order_counts_before_that_of_the_rules() -> None:
    assert warned(part(279, 209), plate_size={"width_mm": 1830, "height_mm": 3660}) == ["p"]
    assert warned(part(360, 180), plate_size={"width_mm": 3660, "height_mm": 1830}) == []


def test_without_a_plate_or_a_trim_nothing_more_is_claimed_than_is_known() -> None:
    rules = rules_with(defaultPlateSize=None)
    order = read_order(order_body(parts=[LARGE]), default_mode="C")

    assert fit_warning(order, rules) == NO_WARNING
    assert warned({**part(280, 210), "thickness_mm": 33}) == []


def refused(*parts, rules: Rules | None = None, **changes) -> list[str]:
    order = read_order(order_body(parts=list(parts), **changes), default_mode="C")
    with pytest.raises(InvalidOrder) as refusal:
        refuse_oversized(order, rules or rules_with())
    return refusal.value.lines


def test_a_part_that_cannot_be_placed_is_refused_by_name(api) -> None:
    answer = api.post("jobs", order_body(parts=[GOVDE, LARGE]))

    assert (answer.status_code, error(answer)["code"]) == (422, "E_VALIDATION")
    assert error(answer)["faults"] == [
        "parts.1: Part door, 3000 × 400 mm, is larger than the plate of 2100 × 2800 mm less 10 mm of trim."
    ]
    assert not Job.objects.exists()


def test_a_part_that_would_fit_when_turned_says_that_its_grain_forbids_it() -> None:
    (fault,) = refused(part(209, 279, grain=1))

    assert fault.startswith("parts.0: Part p, 2090 × 2790 mm, is larger than the plate of 2100 × 2800 mm")
    assert fault.endswith(", because its grain does not allow it to be turned.")


def test_very_many_parts_are_counted_beyond_a_hundred(api) -> None:
    parts = [{**LARGE, "id": f"p{number}"} for number in range(105)]

    refusal = error(api.post("jobs", order_body(parts=parts)))

    assert (len(refusal["faults"]), refusal["faults_beyond"]) == (100, 5)


def test_an_order_that_was_accepted_before_is_still_the_same_job(api) -> None:
    job = large_job()

    answer = api.post("jobs", order_body(parts=[GOVDE, LARGE]))

    assert (answer.status_code, answer.json()["job"]["id"]) == (200, str(job.pk))
    expected = {"code": "W_PART_EXCEEDS_PLATE", "message": f"{MESSAGE}.", "parts": ["door"]}
    assert answer.json()["job"]["warnings"] == [expected]
    assert api.post("jobs", order_body()).json()["job"]["warnings"] == []


def test_page_and_list_flag_the_parts_by_name(make_person) -> None:
    viewer, job = make_person(role="viewer"), large_job()
    make_job(order_id="S-2")

    page, listed = viewer.get(f"{LIST}{job.pk}/change/").text, viewer.get(LIST).text
    narrowed = viewer.get(LIST, {"warning": "W_PART_EXCEEDS_PLATE"}).text

    assert f"{MESSAGE}. Cancel the job and have the order sent again" in page
    assert page.count(">too large<") == 1, "in the table of parts"
    assert listed.count(f'title="{MESSAGE}"') == 1
    assert "S-1001" in narrowed
    assert "S-2" not in narrowed


def test_the_dashboard_names_the_jobs_until_they_are_cancelled(admin_user) -> None:
    job = large_job()

    (problem,) = [each for each in find_problems(admin_user) if each.kind == "warning"]
    assert problem.title == "1 cutting job has parts larger than the plate"
    assert (problem.code, problem.cause) == ("W_PART_EXCEEDS_PLATE", "door")
    assert problem.link == f"{LIST}{job.pk}/change/"

    Job.objects.filter(pk=job.pk).cancel(message="too large")
    assert [each for each in find_problems(admin_user) if each.kind == "warning"] == []


def test_a_job_is_looked_at_again_when_it_is_prepared(customer, floor, rules_file) -> None:
    larger = {"width_mm": 2100, "height_mm": 3660}
    rules_file.write_text(json.dumps({**SHIPPED, "defaultPlateSize": larger}))
    job, unseen = large_job(opti_mode="C"), make_job(order_id="S-2", opti_mode="C", parts=[{**LARGE, "length_cm": 400}])

    tick(patient=False)

    job.refresh_from_db()
    unseen.refresh_from_db()
    assert (job.warning_code, unseen.warning_code) == ("", "W_PART_EXCEEDS_PLATE")
    assert unseen.warning_details["plate"] == "2100 × 3660 mm"

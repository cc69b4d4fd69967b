"""The list of saws in the rules: what may be in it, and orders that name one of them."""

import pytest

from orchestrator.models import Job
from orchestrator.planning.rules import InvalidRules
from tests.support.cutting_jobs import GOVDE, error
from tests.support.cutting_rules import SAWS, rules_with, text_with
from tests.support.drafts import NEW, posted
from tests.support.drafts import page_of as draft_page
from tests.support.order_sheets import read, xlsx

pytestmark = pytest.mark.django_db


@pytest.fixture
def several(rules_file) -> None:
    rules_file.write_text(text_with(saws=SAWS))


@pytest.mark.parametrize(
    ("saws", "fault"),
    [
        ([{"name": "A"}, {"name": "a"}], "a name of its own"),
        ([{"name": ""}], "saws.0.name"),
        ([{"name": "A", "longestMm": 0}], "saws.0.longestMm"),
        ([{"name": "A", "folder": "/mnt"}], "saws.0.folder"),
        ([{"name": "A"}] * 21, "saws"),
    ],
)
def test_faults_of_saws_are_named(saws, fault) -> None:
    with pytest.raises(InvalidRules, match=fault):
        rules_with(saws=saws)


def test_a_list_of_saws_and_cut_by_hand_contradict_each_other() -> None:
    with pytest.raises(InvalidRules, match="leave cutBy out"):
        rules_with(saws=[{"name": "A"}], cutBy="hand")


def test_an_order_names_its_saw_and_stays_the_same_order(several, api) -> None:
    body = {"order_id": "S-1", "customer_phone": "0555 123 45 67", "parts": [GOVDE]}

    stored = api.post("jobs", {**body, "saw": "Large"}).json()
    again = api.post("jobs", body).json()
    refused = api.post("jobs", {**body, "order_id": "S-2", "saw": "Other"})

    assert (stored["job"]["saw"], again["deduplicated"]) == ("Large", True)
    assert error(refused)["faults"] == ["saw: Expected one of Small, Large, By hand."]
    sheet = [["Testere", "Large"], [], ["Adet", "Malzeme", "Boy (mm)", "En (mm)", "Renk", "Kalınlık"]]
    assert read(xlsx(*sheet, [2, "M1", 720, 560, "Beyaz", 18])).order["saw"] == "Large"


def test_a_typed_order_names_its_saw(several, make_person) -> None:
    operator = make_person()
    form = operator.get(NEW).text

    operator.post(draft_page("0192e4a0-7c1e-7d2a-9b3c-4d5e6f708192"), posted(action="send", saw="Large"))
    refused = operator.post(
        draft_page("0192e4a0-7c1e-7d2a-9b3c-4d5e6f708193"), posted(action="check", saw="Other"), follow=True
    )
    held = operator.post(
        draft_page("0192e4a0-7c1e-7d2a-9b3c-4d5e6f708194"), posted(action="check", saw="Small"), follow=True
    )

    assert "the first that fits" in form
    assert (job := Job.objects.get()).saw == "Large"
    assert job.saw_is_chosen
    assert "Expected one of Small, Large, By hand." in refused.text
    assert "Small takes 2500 × 1900 × ∞ mm." in held.text


def test_an_order_without_several_saws_names_none(floor, rules_file, api) -> None:
    body = {"order_id": "S-1", "customer_phone": "0555 123 45 67", "parts": [GOVDE], "saw": "Large"}

    assert error(api.post("jobs", body))["faults"] == ["saw: The rules list no saws."]

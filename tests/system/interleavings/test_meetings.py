"""Every two who may meet on one row, in whatever order their statements come."""

from operator import attrgetter

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.support.commands import ROOT
from tests.support.examples import few
from tests.support.interleaving import Stage, orders
from tests.system.interleavings.adjustments import ADJUSTMENTS
from tests.system.interleavings.batches import BULK_ACTIONS, CIRCUITS, IMPORTS
from tests.system.interleavings.conversions import SCRIPT, UPLOAD
from tests.system.interleavings.cutting_jobs import JOBS
from tests.system.interleavings.meeting import LATE, Pair, Queue, meet
from tests.system.interleavings.messages import MESSAGES
from tests.system.interleavings.pdf_jobs import PDF_JOBS

pytestmark = pytest.mark.django_db(transaction=True)

QUEUES = (SCRIPT, UPLOAD, ADJUSTMENTS, PDF_JOBS, MESSAGES, JOBS, BULK_ACTIONS, IMPORTS, CIRCUITS)
PAIRS = [pair for queue in QUEUES for pair in queue.pairs]


@pytest.mark.usefixtures("floor", "rules_file")
@pytest.mark.parametrize("queue", QUEUES, ids=attrgetter("name"))
def test_two_who_meet_on_a_row_leave_it_as_its_table_says(stage, queue: Queue):
    @few(40)
    @given(data=st.data())
    def in_any_order(data):
        meet_in_any_order(stage, data.draw(st.sampled_from(queue.pairs)), data)

    in_any_order()


@pytest.mark.nightly  # by day some of them meet, above
@pytest.mark.usefixtures("floor", "rules_file")
@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_every_two_who_meet_on_a_row_leave_it_as_its_table_says(stage, pair: Pair):
    @few(25)
    @given(data=st.data())
    def in_any_order(data):
        meet_in_any_order(stage, pair, data)

    in_any_order()


def meet_in_any_order(stage: Stage, pair: Pair, data: st.DataObject) -> None:
    place, order = data.draw(st.sampled_from(pair.places)), data.draw(orders(2))
    assert meet(stage, pair.queue, place, (pair.first, pair.second), order) == []


@pytest.mark.usefixtures("floor", "rules_file")
@pytest.mark.parametrize("queue", QUEUES, ids=attrgetter("name"))
def test_three_who_meet_on_a_row_leave_it_as_its_table_says(stage, queue: Queue):
    @few(10)
    @given(data=st.data())
    def in_any_order(data):
        place = data.draw(st.sampled_from(list(queue.places)))
        here = [name for name, person in queue.people.items() if place in person.at]
        names = data.draw(st.lists(st.sampled_from(here), min_size=3, max_size=3))
        assume(sum(queue.people[name].who == LATE for name in names) <= 1)
        assert meet(stage, queue, place, names, data.draw(orders(3))) == []

    in_any_order()


def test_the_documents_list_every_two_who_meet():
    page = (ROOT / "docs" / "reliability.md").read_text()

    missing = [queue.name for queue in QUEUES if queue.listed() not in page]

    assert missing == []
    assert len(PAIRS) == len(set(map(str, PAIRS)))

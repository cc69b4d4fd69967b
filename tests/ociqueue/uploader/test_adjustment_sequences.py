"""Random sequences of what callers, uploads and failures do: Google's books stay ours."""

from collections import defaultdict

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ociqueue.models import Adjustment, Conversion
from tests.support.adjustments import (
    applied_but_late,
    assert_google_ads_has_ours,
    restate,
    retract,
    upload_again,
)

pytestmark = pytest.mark.django_db

STEPS = st.one_of(
    st.tuples(st.just("restate"), st.integers(0, 2), st.integers(1, 9)),
    st.tuples(st.just("retract"), st.integers(0, 2)),
    st.just(("upload",)),
    st.just(("lose the answer",)),
    st.just(("lose the request",)),
    st.tuples(st.just("fail"), st.integers(0, 2)),
)


def never_applied(call):
    call.refuse("UNAVAILABLE")


class Story:
    """Three conversions of a site, and what happens to them."""

    def __init__(self, google, site, rows) -> None:
        self.google, self.site, self.rows = google, site, rows

    def step(self, name: str, *args: int) -> None:
        if name == "restate":
            restate(self.site, self.rows[args[0]], args[1])
        elif name == "retract":
            retract(self.site, self.rows[args[0]])
        elif name == "fail":
            # Only one that Google cannot have: otherwise nobody knows what it counts.
            Conversion.objects.filter(pk=self.rows[args[0]].pk, outcome_unknown=False).mark_failed()
        else:
            replies = {"lose the answer": [applied_but_late], "lose the request": [never_applied]}
            self.google.replies.extend(replies.get(name, []))
            upload_again()

    def end(self) -> None:
        self.google.replies.clear()
        for _ in range(4):
            self.site.circuits.all().probe_now()
            upload_again()


def check(google) -> None:
    assert_google_ads_has_ours(google)
    assert not Conversion.objects.exclude(status__in=("COMPLETED", "FAILED")).exists()
    assert not Adjustment.objects.exclude(status__in=("COMPLETED", "FAILED")).exists()
    adjusted, times = set(), defaultdict(list)
    for call in google.calls:
        if call.field == "conversions":
            assert not adjusted & {row.order_id for row in call.request.conversions}, "an original after its adjustment"
        else:
            for row in call.request.conversion_adjustments:
                adjusted.add(row.order_id)
                times[row.order_id].append(row.adjustment_date_time)
    assert all(sent == sorted(sent) for sent in times.values()), "an older adjustment after a newer one"


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True)
@given(steps=st.lists(STEPS, min_size=4, max_size=12))
def test_whatever_happens_google_counts_what_we_do(google, make_api_site, make_rows, steps) -> None:
    google.reset()
    with transaction.atomic():  # taken back, so that the next sequence begins with empty tables
        site = make_api_site()
        story = Story(google, site, make_rows(site, "a", "b", "c", value=100))

        for step in steps:
            story.step(*step)
        story.end()

        check(google)
        transaction.set_rollback(True)

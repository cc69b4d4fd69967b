"""Recovery is judged by the machine that it was measured on."""

from tests.system.chaos.recovery import Recovery, finding


def test_a_late_recovery_is_reported() -> None:
    late = Recovery("PostgreSQL", seconds=61, slowness=1.0)

    assert finding([late]).breaches == ["PostgreSQL: 61 s, on a machine 1.0 times slower than the reference"]


def test_a_slow_machine_may_take_longer() -> None:
    assert finding([Recovery("PostgreSQL", seconds=590, slowness=10.0)]).breaches == []

"""Every sweep has a command, made from its declaration."""

import io
from datetime import timedelta

import pytest
from django.core.management import ManagementUtility, call_command, get_commands

from kilit.lock.audit import current_context
from kilit.workers.management.sweep_command import add_commands
from kilit.workers.sweeps import Sweep, SweepOption, sweeps


@pytest.fixture
def count(monkeypatch: pytest.MonkeyPatch) -> Sweep:
    def run(age: timedelta = timedelta(0)) -> str:
        return f"{current_context().actor} counted {age}."

    option = SweepOption("--age-minutes", "age", int, default=5, unit=timedelta(minutes=1))
    sweep = Sweep(
        "count_sheep",
        timedelta(minutes=1),
        run,
        about="Counts sheep.",
        preview=lambda age: f"Would count {age}.",
        options=[option],
    )
    monkeypatch.setitem(sweeps, sweep.name, sweep)
    add_commands()
    yield sweep
    del get_commands()[sweep.name]


def printed(*arguments: str) -> str:
    output = io.StringIO()
    call_command(*arguments, stdout=output)
    return output.getvalue()


def test_every_sweep_has_a_command_that_help_lists() -> None:
    ours = {name for name, sweep in sweeps.items() if not sweep.run.__module__.startswith("tests.")}

    assert ours <= set(ManagementUtility(["manage.py"]).main_help_text(commands_only=True).split())


@pytest.mark.django_db
def test_a_command_passes_its_options_to_the_sweep(count: Sweep) -> None:
    assert printed("count_sheep") == "command:count_sheep counted 0:05:00.\n"
    assert printed("count_sheep", "--age-minutes", "1") == "command:count_sheep counted 0:01:00.\n"
    assert printed("count_sheep", "--dry-run") == "Would count 0:05:00.\n"


def test_a_command_of_the_same_name_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sweeps, "migrate", Sweep("migrate", timedelta(minutes=1), lambda: ""))

    add_commands()

    assert get_commands()["migrate"] == "config"

"""How good cutting plans are: boards of the optimiser against the least there can be, and against strips, first fit.

`python -m tests.tools.benchmarks.cutting` prints the table of docs/performance.md; `--seconds 2 5` says how long a plan
may take, `--long 6` that up to six instances that stay above the bound get a minute.

The instances: kitchens and wardrobes of our own; random parts; those of Berkey and Wang (Two-dimensional finite
bin-packing algorithms, Journal of the Operational Research Society 38, 1987), drawn anew by their rules for the classes
1 to 6, without kerf and without turning; and boards that were cut at random, so that their least number is known.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from random import Random

import django

KERF = 40
BERKEY_WANG = {1: (10, 10), 2: (10, 30), 3: (35, 40), 4: (35, 100), 5: (100, 100), 6: (100, 300)}  # largest side, board
QUICK = 10  # instances in `make bench`
GOAL = 90.0  # per cent of the instances


def instances() -> Iterator[tuple[str, object, int]]:
    """Yield a name, the problem, and the least number of boards that is known beforehand."""
    from tests.support.cutting_plans import kitchen, random_parts, wardrobe

    for seed, cabinets in enumerate((3, 5, 7, 9, 12, 15, 18, 20, 24, 28)):
        yield f"kitchen, {cabinets} cabinets", kitchen(seed, cabinets), 0
    for seed, units in enumerate((2, 3, 4, 6, 8, 10, 12, 16)):
        yield f"wardrobe, {units} units", wardrobe(seed, units), 0
    for kinds in (10, 20, 40, 60):
        yield f"random, {kinds} kinds", random_parts(kinds, kinds), 0
    for class_, (largest, side) in BERKEY_WANG.items():
        yield f"Berkey and Wang {class_}, 40 parts", berkey_wang(class_, largest, side, 40), 0
    for boards in (2, 4, 6, 8):
        yield f"{boards} boards cut at random", cut_at_random(boards), boards


def berkey_wang(class_: int, largest: int, side: int, parts: int) -> object:
    from orchestrator.cutting.problem import Plate
    from tests.support.cutting_plans import Sizes, problem

    random = Random(class_)
    sizes = Sizes((random.randint(1, largest), random.randint(1, largest), False) for _ in range(parts))
    return problem(sizes, Plate(side * 10, side * 10, cost=1), kerf=0)


def cut_at_random(boards: int) -> object:
    """Cut whole boards with three stages of cuts, a third of the pieces once more; nothing is left but kerf."""
    from tests.support.cutting_plans import PLATE, Sizes, problem

    random, sizes = Random(boards), Sizes()
    length, width = PLATE.usable
    for _ in range(boards):
        for strip in pieces_of(random, width, 2_500, 7_000):
            for along in pieces_of(random, length, 3_000, 9_000):
                recut = pieces_of(random, strip, 1_000, 3_000) if random.random() < 0.3 else [strip]
                sizes.update((along / 10, across / 10, False) for across in recut)
    return problem(sizes)


def pieces_of(random: Random, whole: int, least: int, most: int) -> list[int]:
    pieces = []
    while whole > most:
        pieces.append(random.randint(least, min(most, whole - KERF - least)))
        whole -= pieces[-1] + KERF
    return [*pieces, whole]


@cache
def measured(name: str, seconds: float) -> tuple[int, int]:
    """Return the boards of the optimiser's plan, and how few there are at least, as far as it knows."""
    from orchestrator.cutting.checking import faults
    from orchestrator.cutting.problem import CuttingOrder
    from orchestrator.cutting.solving import solve

    problem, known = next((problem, known) for title, problem, known in instances() if title == name)
    order = CuttingOrder((problem,))
    plan = solve(order, seconds=seconds, wait=60)
    if wrong := faults(order, plan):
        raise RuntimeError(f"{name}: {wrong}")
    return plan.boards, max(known, plan.problems[0].bound)


def near_the_bound() -> float:
    """Return for how many of the instances, in per cent, a plan of five seconds is at most a board above the bound."""
    from tests.tools.benchmarks.harness import scope

    names = [name for name, *_ in instances()]
    chosen = names if scope.full else names[:: len(names) // QUICK]
    near = sum(boards <= bound + 1 for boards, bound in (measured(name, 5.0) for name in chosen))
    return 100 * near / len(chosen)


def goal() -> float:
    return GOAL


def table(times: list[float], longest: int) -> Iterator[str]:
    from orchestrator.cutting.strips import plan_by_strips

    heads = [f"{seconds:g} s" for seconds in times]
    yield " | ".join(["| instance", "parts", "area", "bound", "strips", *heads, "60 s |"])
    yield "|---" + "|---:" * (len(heads) + 5) + "|"
    gaps: dict[float, list[int]] = {seconds: [] for seconds in times}
    strips_gaps = []
    for name, problem, _ in instances():
        results = {seconds: measured(name, seconds) for seconds in times}
        long = ""
        if longest and results[times[-1]][0] > max(bound for _, bound in results.values()):
            longest -= 1
            results[60.0] = measured(name, 60.0)
            long = str(results[60.0][0])
        bound = max(bound for _, bound in results.values())
        strips = plan_by_strips(problem).number
        strips_gaps.append(strips - bound)
        for seconds in times:
            gaps[seconds].append(results[seconds][0] - bound)
        parts = sum(piece.quantity for piece in problem.pieces)
        numbers = [parts, problem.least_boards, bound, strips, *(results[seconds][0] for seconds in times)]
        yield " | ".join([f"| {name}", *map(str, numbers), f"{long} |"])
    for title, gap in {"strips": strips_gaps, **{f"{seconds:g} s": gap for seconds, gap in gaps.items()}}.items():
        near = sum(one <= 1 for one in gap)
        on_bound = sum(one <= 0 for one in gap)
        yield f"{title}: {on_bound} on the bound, {near} of {len(gap)} at most one above, {sum(gap)} in all"


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    from django.test import override_settings

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, nargs="+", default=[2.0, 5.0])
    parser.add_argument("--long", type=int, default=6)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, override_settings(KILIT_VAR=folder):
        for line in table(options.seconds, options.long):
            sys.stdout.write(line + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
else:
    from tests.tools.benchmarks.harness import Figure

    FIGURES = [
        Figure(
            "cutting_plans",
            "% of orders",
            near_the_bound,
            goal,
            "plans of five seconds with at most one board more than the least there can be",
            at_least=1.0,
            rounds=1,
            warm=False,
        )
    ]

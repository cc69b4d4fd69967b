"""The solver's process: reads problems, and writes each better plan as soon as there is one.

Run as a script with packingsolver, psutil and the standard library: `python solver.py PROBLEMS PLANS`. It is a process
of its own because packingsolver can hang after its last solution, take much memory, and die; what it wrote is kept.
"""

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any

import psutil

LOOK_EVERY = 0.2  # seconds between two looks at the memory
LEAST_SECONDS = 0.2  # worth a search

# Searches of fixed effort, quick ones first: with the same input each returns the same plan, unless time runs out.
# Of several plate sizes only the last three kinds of search take account of the cost.
SEARCHES: dict[bool, list[dict[str, object]]] = {
    True: [
        {"use_tree_search": True, "not_anytime_tree_search_queue_size": 32},
        {
            "use_sequential_value_correction": True,
            "not_anytime_sequential_value_correction_number_of_iterations": 8,
            "sequential_value_correction_subproblem_tree_search_queue_size": 32,
        },
        {"use_tree_search": True, "not_anytime_tree_search_queue_size": 256},
    ],
    False: [
        {
            "use_sequential_value_correction": True,
            "not_anytime_sequential_value_correction_number_of_iterations": 4,
            "sequential_value_correction_subproblem_tree_search_queue_size": 16,
        },
        {
            "use_sequential_single_knapsack": True,
            "not_anytime_sequential_single_knapsack_subproblem_tree_search_queue_size": 64,
        },
        {
            "use_sequential_value_correction": True,
            "not_anytime_sequential_value_correction_number_of_iterations": 32,
            "sequential_value_correction_subproblem_tree_search_queue_size": 64,
        },
    ],
}


def main(source: str, target: str) -> None:
    task = json.loads(Path(source).read_bytes())
    be_modest(task["megabytes"])
    end = time.monotonic() + task["seconds"]
    with Path(target).open("a", encoding="utf-8") as file:
        searches = [Search(number, problem, file) for number, problem in enumerate(task["problems"])]
        # Every problem has its turn in each round; the last round takes the time that is left.
        for turn in range(len(SEARCHES[True]) + 1):
            waiting = [search for search in searches if not search.is_over]
            for number, search in enumerate(waiting):
                left = end - time.monotonic()
                if left < LEAST_SECONDS:
                    return
                try:
                    search.run(turn, left / (len(waiting) - number))
                except Exception as error:  # noqa: BLE001  # of any kind, from C++; the others go on
                    sys.stderr.write(f"problem {search.number}: {type(error).__name__}: {error}\n")
                    search.is_over = True


def be_modest(megabytes: int) -> None:
    """Let others go first, and end rather than take the machine's memory.

    packingsolver has a limit of its own, but with it every call lasts until its time is over.
    """
    process = psutil.Process()
    if sys.platform == "win32":
        process.nice(psutil.BELOW_NORMAL_PRIORITY_CLASS)
    else:
        process.nice(5)

    def watch() -> None:
        while process.memory_info().rss < megabytes * 1024**2:
            time.sleep(LOOK_EVERY)
        sys.stderr.write(f"more than {megabytes} MB of memory\n")
        sys.stderr.flush()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class Search:
    """The search for a plan of one problem: the best so far, and what is known of the least."""

    def __init__(self, number: int, problem: dict[str, Any], file: IO[str]) -> None:
        self.number, self.problem, self.file = number, problem, file
        self.is_one_size = len(problem["plates"]) == 1
        self.best = problem["cost"], -problem["offcuts"]
        self.bound = 0
        self.is_over = False

    def run(self, turn: int, seconds: float) -> None:
        import packingsolver.rectangleguillotine as psg

        searches = SEARCHES[self.is_one_size]
        is_last = turn == len(searches)
        parameters = psg.OptimizeParameters()
        parameters.time_limit = seconds
        parameters.messages_to_stdout = False
        mode = psg.OptimizationMode
        parameters.optimization_mode = mode.Anytime if is_last else mode.NotAnytimeDeterministic
        for name, value in {} if is_last else searches[turn].items():
            setattr(parameters, name, value)
        parameters.new_solution_callback = self.keep
        output = psg.optimize(instance(psg, self.problem), parameters)
        self.keep(output)
        bound = output.bin_packing_bound if self.is_one_size else output.variable_sized_bin_packing_bound
        self.bound = max(self.bound, round(bound))
        unit = self.problem["plates"][0][2] if self.is_one_size else 1
        self.is_over = self.best[0] <= self.bound * unit
        self.write(bound=self.bound if self.is_one_size else 0, is_optimal=self.is_over)

    def keep(self, output: Any) -> None:
        """Write a plan that costs less; of those that cost the same, the one with the larger offcuts."""
        solution = output.solution
        if not solution.full():
            return
        cost = round(solution.cost())
        if cost > self.best[0]:
            return
        boards = boards_of(solution, self.problem["least_drop"])
        offcuts = sum(copies * (drop[2] * drop[3]) ** 2 for _, copies, _, drops in boards for drop in drops)
        if (cost, -offcuts) < self.best:
            self.best = cost, -offcuts
            self.write(cost=cost, boards=boards)

    def write(self, **row: object) -> None:
        self.file.write(json.dumps({"problem": self.number, **row}) + "\n")
        self.file.flush()


def instance(psg: Any, problem: dict[str, Any]) -> Any:
    builder = psg.InstanceBuilder()
    is_one_size = len(problem["plates"]) == 1
    builder.set_objective(psg.Objective.BinPacking if is_one_size else psg.Objective.VariableSizedBinPacking)
    builder.set_number_of_stages(problem["stages"])
    builder.set_cut_type(psg.CutType.NonExact)
    builder.set_first_stage_orientation(psg.CutOrientation.Any)
    builder.set_cut_thickness(problem["kerf"])
    names = ("left_trim", "bottom_trim", "right_trim", "top_trim")
    for length, width, cost, number, trims in problem["plates"]:
        trim = dict(zip(names, trims, strict=True)) | {f"{name}_type": psg.TrimType.Hard for name in names}
        builder.add_bin_type(length, width, cost=cost, copies=number, trims=trim)
    for length, width, quantity, can_turn in problem["pieces"]:
        builder.add_item_type(length, width, copies=quantity, oriented=not can_turn)
    return builder.build()


def boards_of(solution: Any, least_drop: int) -> list[Any]:
    boards = []
    for number in range(solution.number_of_different_bins()):
        board = solution.bin(number)
        parts, drops = [], []
        for node in board.nodes[1:]:  # the first one is the plate
            place = node.l, node.b, node.r - node.l, node.t - node.b
            if node.item_type_id >= 0:
                parts.append((node.item_type_id, *place))
            elif node.item_type_id == -1 and node.d > 0 and min(place[2:]) >= least_drop:
                drops.append(place)
        boards.append([board.bin_type_id, board.copies, parts, drops])
    return boards


if __name__ == "__main__":
    main(*sys.argv[1:])
    sys.stderr.flush()
    os._exit(0)  # packingsolver may hang while it is unloaded

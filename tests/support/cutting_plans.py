"""Orders for the optimiser: kitchens, wardrobes and random parts, in tenths of a millimetre."""

from collections import Counter
from decimal import Decimal
from random import Random

from orchestrator.cutting.problem import CuttingProblem, Piece, Plate, Trim

BOARD = 18  # millimetres: what stands between the sides of a cabinet is narrower by two of them
PLATE = Plate(28_000, 21_000, cost=58_800, trim=Trim(left=100, bottom=100))
Sizes = Counter[tuple[float, float, bool]]  # length, width, whether it may be turned


def problem(
    sizes: Sizes, *plates: Plate, kerf: int = 40, stages: int = 3, name: str = "MDF", thickness: int = BOARD
) -> CuttingProblem:
    pieces = [
        Piece(f"p{number}", round(length * 10), round(width * 10), count, can_turn)
        for number, ((length, width, can_turn), count) in enumerate(sizes.items(), start=1)
    ]
    return CuttingProblem(name, "Beyaz", Decimal(thickness), tuple(pieces), plates or (PLATE,), kerf, stages)


def kitchen(seed: int, cabinets: int) -> CuttingProblem:
    """Base, wall and tall cabinets and drawers, with their doors; the grain of fronts and sides runs along them."""
    random, sizes = Random(seed), Sizes()
    for _ in range(cabinets):
        width = random.choice([300, 400, 450, 500, 600, 800, 900])
        inner, doors = width - 2 * BOARD, 2 if width >= 600 else 1
        match random.choice(["base", "base", "wall", "wall", "tall", "drawers"]):
            case "base":
                sizes += {(720, 560, False): 2, (inner, 560, False): 1, (inner, 100, False): 2}
                sizes += {(inner, 540, False): random.randint(1, 2), (716, width / doors - 3, False): doors}
            case "wall":
                sizes += {(720, 320, False): 2, (inner, 320, False): 2, (inner, 300, False): random.randint(1, 2)}
                sizes += {(716, width / doors - 3, False): doors}
            case "tall":
                sizes += {(2080, 560, False): 2, (inner, 560, False): 3, (inner, 540, False): 3}
                sizes += {(1400, width - 3, False): 1, (676, width - 3, False): 1}
            case "drawers":
                sizes += {(720, 560, False): 2, (inner, 560, False): 1, (inner, 100, False): 2}
                sizes += {(140, width - 3, True): 1, (283, width - 3, True): 2}
                sizes += {(500, 120, True): 6, (width - 90, 120, True): 6}
    return problem(sizes)


def wardrobe(seed: int, units: int) -> CuttingProblem:
    random, sizes = Random(seed), Sizes()
    for _ in range(units):
        width, height = random.choice([450, 500, 550, 600, 800, 900, 1000]), random.choice([2100, 2200, 2360, 2400])
        inner, doors = width - 2 * BOARD, 2 if width > 600 else 1
        sizes += {(height, 580, False): 2, (inner, 580, False): 2, (inner, 560, False): random.randint(2, 6)}
        sizes += {(inner, 80, False): 1, (height - 90, width / doors - 3, False): doors}
        drawers = random.choice([0, 2, 3])
        sizes += {(inner - 4, 180, False): drawers, (500, 150, True): 2 * drawers, (inner - 62, 150, True): 2 * drawers}
    return problem(+sizes)


def random_parts(seed: int, kinds: int, *, most: int = 4) -> CuttingProblem:
    random, sizes = Random(seed), Sizes()
    for _ in range(kinds):
        size = random.randint(1000, 12_000) / 10, random.randint(500, 6000) / 10
        sizes[*size, random.random() < 0.4] += random.randint(1, most)
    return problem(sizes)


def random_problem(seed: int) -> CuttingProblem:
    """Few parts, of which some are as large as the plate, thin, equal, or fit only when they are turned."""
    random, sizes = Random(seed), Sizes()
    trim = Trim(*(random.choice([0, 50, 100, 153]) for _ in range(4)))
    plate = Plate(random.randint(8_000, 36_600), random.randint(6_000, 21_000), cost=1000, trim=trim)
    length, width = (side / 10 for side in plate.usable)
    for _ in range(random.randint(1, 9)):
        kinds = [
            (random.randint(300, 8000) / 10, random.randint(300, 6000) / 10, random.random() < 0.5),
            (length, random.randint(300, 3000) / 10, False),
            (random.randint(300, 3000) / 10, width, False),
            (width, random.randint(300, 3000) / 10, True),
            (length / random.randint(1, 4), width / random.randint(1, 4), False),
            (length, width, False),
            (random.randint(20, 300) / 10, random.randint(1000, 6000) / 10, random.random() < 0.5),
        ]
        *sides, can_turn = random.choices(kinds, [12, 1, 1, 1, 2, 0.2, 2])[0]
        along, across = (int(side * 10) / 10 for side in sides)  # rounded down: two halves are no more than the whole
        is_straight = along <= length and across <= width
        if is_straight or (can_turn and across <= length and along <= width):
            sizes[along, across, can_turn] += random.randint(1, 3)
    sizes += {} if sizes else {(length, width, False): 1}
    offcuts = [
        Plate(random.randint(2_000, 15_000), random.randint(2_000, 10_000), cost=100, number=1, name=f"offcut {number}")
        for number in range(random.choice([0, 0, 1, 3]))
    ]
    return problem(sizes, *offcuts, plate, kerf=random.choice([0, 30, 40, 48]), stages=random.choice([2, 3, 3]))

"""Which lines of a file name the same thing, without holding all of its lines."""

import sys

from kilit.csv.index import BITS, MOST_LINES, LineKey, MemoryIndex, Repeats


def test_only_lines_that_are_not_alone_are_kept() -> None:
    keys = [LineKey(number, number // 2 if number < 4 else number) for number in range(10)]

    index = MemoryIndex(iter(keys), lambda: iter(keys))

    assert index.find(range(10)) == {0: keys[:2], 1: keys[2:4]}


def test_of_many_lines_the_first_are_kept_and_one_that_shows_there_are_more() -> None:
    keys = [LineKey(number, 7) for number in range(10 * MOST_LINES)]

    index = MemoryIndex(keys, lambda: keys)

    assert len(index.find([7])[7]) == MOST_LINES + 1


def test_what_is_held_does_not_depend_on_how_many_there_are() -> None:
    repeats = Repeats(iter([*range(50_000), 7, -3, -3]))

    assert (7 in repeats, -3 in repeats, 8 in repeats) == (True, True, False)
    assert sys.getsizeof(repeats._twice) < 2**BITS / 8 + 1000

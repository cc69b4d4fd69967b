"""Types of command arguments, with errors that name the allowed range."""

import argparse
from collections.abc import Callable
from contextlib import suppress


def whole_number(*, least: int, most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        with suppress(ValueError):
            if least <= (value := int(text)) <= most:
                return value
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} to {most}")

    return read


A_YEAR_OF_MINUTES = 366 * 24 * 60
minutes = whole_number(least=0, most=A_YEAR_OF_MINUTES)

"""Tax numbers of customers: Turkey's by their check digits, those of other countries as they are."""

import re

from django.utils.translation import gettext_noop

from kilit.api.input_model import invalid

FOREIGN = re.compile(r"(?!TR)[A-Z]{2}.*[0-9]")
BETWEEN = re.compile(r"[\s./-]")


def read_tax_number(text: str) -> str:
    """Return a tax number. One that begins with the two letters of another country is free text."""
    if FOREIGN.match(text.upper()):
        return text
    number = BETWEEN.sub("", text).upper().removeprefix("TR")
    if number.isascii() and number.isdigit() and (is_vkn(number) or is_tckn(number)):
        return number
    raise invalid(
        gettext_noop(
            "Not a tax number: a VKN has 10 digits, a TCKN 11. For another country begin with its two letters."
        )
    )


def is_vkn(number: str) -> bool:
    """Return whether the last of ten digits is the check digit of a company's or person's number."""
    if len(number) != 10:
        return False
    shifted = [(int(digit) + 9 - place) % 10 for place, digit in enumerate(number[:9])]
    weighed = [digit and (digit * 2 ** (9 - place) % 9 or 9) for place, digit in enumerate(shifted)]
    return -sum(weighed) % 10 == int(number[9])


def is_tckn(number: str) -> bool:
    """Return whether the last two of eleven digits are the check digits of a citizen's number."""
    if len(number) != 11 or number[0] == "0":
        return False
    digits = [int(digit) for digit in number]
    tenth = (7 * sum(digits[0:9:2]) - sum(digits[1:8:2])) % 10
    return digits[9:] == [tenth, (sum(digits[:9]) + tenth) % 10]

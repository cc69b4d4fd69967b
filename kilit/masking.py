"""Personal data in free text, such as an error's message: complete on a job's own page, masked everywhere else."""

import re
from collections.abc import Iterator

REGION = "TR"  # of numbers without a country code
SHOWN = 4  # digits of a phone
EMAIL = re.compile(r"\b([\w.%+-])[\w.%+-]*(@[\w-]+\.[\w.-]*\w)")
# Long, with capital and small letters and a digit. Codes have capital letters only; hashes and our ids, small ones.
CLICK_ID = re.compile(r"(?<![\w-])(?=[\w-]*[0-9])(?=[\w-]*[a-z])(?=[\w-]*[A-Z])[\w-]{20,}(?![\w-])", re.ASCII)
IDENTIFIERS = ("email", "phone", "hashedEmail", "hashedPhone")  # in requests and files
HIDDEN = "…"  # stands for an identifier in what a page shows of a rejected line
LEAST_DIGITS = 7
FEWEST_DIGITS = re.compile(r"\d(?:\D{0,3}\d){6}")  # no phone number has fewer; most texts end here


def mask_phone(phone: str) -> str:
    return f"…{phone[-SHOWN:]}"


def mask_personal_data(text: str) -> str:
    """Return a text with only the last digits of phone numbers, and the first letter of e-mail addresses."""
    text = EMAIL.sub(r"\1…\2", text) if "@" in text else text
    return "".join(_without_phones(text)) if FEWEST_DIGITS.search(text) else text


def mask_identifiers(text: str) -> str:
    """Return a text without personal data, and without what looks like a click id."""
    return mask_personal_data(CLICK_ID.sub("…", text))


def may_be_personal(text: str) -> bool:
    return "@" in text or sum(map(str.isdigit, text)) >= LEAST_DIGITS


def hide(name: str, cell: str) -> str:
    """Hide a cell of a file that has columns of identifiers; an address may be in the wrong column."""
    return HIDDEN if cell and (name in IDENTIFIERS or "@" in cell) else cell


def _without_phones(text: str) -> Iterator[str]:
    from phonenumbers import PhoneNumberMatcher

    end = 0
    for match in PhoneNumberMatcher(text, REGION):
        yield text[end : match.start]
        yield mask_phone("".join(filter(str.isdigit, match.raw_string)))
        end = match.end
    yield text[end:]

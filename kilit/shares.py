"""Percentages as parts of a sentence: “70 %” of something, which Turkish writes as “%70'i”."""

from django.utils.translation import get_language
from django.utils.translation import gettext as _

# How the names of numbers end in Turkish, by the last digit, and by the last two of whole tens.
ENDINGS = {"1": "i", "2": "si", "3": "ü", "4": "ü", "5": "i", "6": "sı", "7": "si", "8": "i", "9": "u", "0": "ı"}
TENS = {"10": "u", "20": "si", "30": "u", "40": "ı", "50": "si", "60": "ı", "70": "i", "80": "i", "90": "ı", "00": "ü"}


def share(percent: object) -> str:
    """Return a number of percent, as the subject or the object of a sentence."""
    digits, text = str(percent), _("%(number)s %%") % {"number": percent}
    if get_language() != "tr":
        return text
    return f"{text}'{TENS.get(digits[-2:], ENDINGS[digits[-1]])}"

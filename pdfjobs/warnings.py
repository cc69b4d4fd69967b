"""Warnings about a document that is rendered all the same."""

from collections.abc import Iterator

from pdfjobs.models import PdfJob
from pdfjobs.rendering.fonts import unprintable
from pdfjobs.schemas import PdfWarning

MISSING_CHARACTERS = "MISSING_CHARACTERS"
MOST_NAMED = 50


def warnings_of(job: PdfJob) -> list[PdfWarning]:
    """Return what the caller should know; nothing once the variables are deleted."""
    characters = missing_characters(job)
    if not characters:
        return []
    message = "No font of this server has these characters, so they are printed as boxes."
    if len(characters) > MOST_NAMED:
        message += f" {MOST_NAMED} of {len(characters):,} are named."
    return [{"code": MISSING_CHARACTERS, "message": message, "characters": characters[:MOST_NAMED]}]


def missing_characters(job: PdfJob) -> str:
    return unprintable("".join(_texts((job.payload, job.options.get("header"), job.options.get("footer")))))


def _texts(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for inner in value.values():
                yield from _texts(inner)
        case list() | tuple():
            for inner in value:
                yield from _texts(inner)

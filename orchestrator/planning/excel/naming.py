"""File names: readable, safe, and unique per batch."""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from uuid import UUID

from orchestrator.planning.plan import Batch
from orchestrator.schemas.orders import plain

LONGEST_COLOUR = 60
HASH_LENGTHS = (0, 8, 16, 64)
# Letters that NFKD does not split into a letter and a mark.
LETTERS = str.maketrans({"ı": "i", "ß": "ss", "ø": "o", "Ø": "O", "æ": "ae", "Æ": "AE", "đ": "d", "ł": "l", "Ł": "L"})


def fold(text: str) -> str:
    """Return text in ASCII letters, digits and hyphens: Gümüş becomes Gumus, `../` an empty string."""
    apart = unicodedata.normalize("NFKD", text.translate(LETTERS))
    letters = "".join(letter for letter in apart if not unicodedata.combining(letter))
    return re.sub(r"[^A-Za-z0-9]+", "-", letters).strip("-")


def short_hash(text: str, length: int = 8) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def file_names(job_id: UUID, batches: Sequence[Batch]) -> list[str]:
    """Return a name for each batch; names that differ only in case, or not at all, get a hash."""
    lengths = [0] * len(batches)
    while True:
        names = [_name(job_id, batch, HASH_LENGTHS[length]) for batch, length in zip(batches, lengths, strict=True)]
        uses = Counter(name.casefold() for name in names)
        if len(uses) == len(names):
            return names
        for number, name in enumerate(names):
            if uses[name.casefold()] > 1:
                lengths[number] = min(lengths[number] + 1, len(HASH_LENGTHS) - 1)


def _name(job_id: UUID, batch: Batch, hash_length: int) -> str:
    colour = fold(batch.color)[:LONGEST_COLOUR].strip("-")
    if hash_length or not colour:
        colour = f"{colour}-{short_hash(batch.color, hash_length or 8)}".lstrip("-")
    return f"{job_id}_{batch.part_type}_{colour}_{plain(batch.thickness_mm)}mm.xlsx"

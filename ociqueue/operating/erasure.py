"""Erasure: removes what identifies a person from conversions that have ended, and from every text that quotes it.

A person is found by one identifier. Conversions with the same click id are of the same visit, and corrected copies are
of the same order, so they are the same person's; other people's identifiers on those rows are not followed further.
A script may quote them in its report about any other row. So all texts about jobs are read, before the rows lose what
the texts are searched for: a run that was stopped can be repeated.
The rows stay, with their history, their order ids and source keys: those keep Google and us from counting them again.
"""

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Case, Count, Q, Value, When
from django.db.models.functions import Now
from django.db.models.lookups import Exact

from kilit.lock.audit import current_context
from kilit.lock.folding import Fold, FoldedColumn
from kilit.lock.free_text import (
    email_pattern,
    id_pattern,
    jobs_quoting,
    phone_pattern,
    run_of,
    scrub,
    scrub_addresses,
    scrub_jobs,
    scrub_tables,
)
from kilit.lock.models import Event
from kilit.lock.text import strip_control_chars
from kilit.lock.triggers import erasing
from ociqueue.intake.corrections import note_activity
from ociqueue.models import Adjustment, Circuit, Conversion, ConversionKey, Erasure, IdentifierKind, ImportLine, Site
from ociqueue.values.identifiers import hash_email, hash_phone

BATCH = 25  # rows of one transaction; a person rarely has more
ERASED = "ERASED"
SHORTEST_KEY = 6  # characters of an order id or source key; a shorter one is a word or a number of other texts
EMPTY = dict.fromkeys((*Conversion.CLICK_IDS, *Conversion.HASHES), "")


@contextmanager
def _turn() -> Iterator[None]:
    """Open a transaction: two at once would wait for each other's texts in different orders."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('ociqueue.operating.erasure'))")
        yield


class Person:
    """One identifier of a person; a ValueError says what is wrong with it, without repeating it."""

    def __init__(self, kind: IdentifierKind, text: str) -> None:
        self.kind, self.text = kind, text.strip()
        if not self.text or strip_control_chars(self.text) != self.text:
            raise ValueError("It is empty, or contains characters that cannot be stored.")
        self.hashes: tuple[str, ...] = ()
        if kind == IdentifierKind.EMAIL:
            self.hashes = tuple(filter(None, hash_email(self.text)))
        elif kind == IdentifierKind.PHONE:
            self.hashes = (hash_phone(self.text),)

    def conditions(self) -> list[Q]:
        match self.kind:
            case IdentifierKind.EMAIL:
                # A row whose second hash differs has the first one of the same address.
                return [Q(~Q(hashed_email=""), hashed_email__in=self.hashes)]
            case IdentifierKind.PHONE:
                return [Q(~Q(hashed_phone=""), hashed_phone__in=self.hashes)]
            case IdentifierKind.CLICK_ID:
                return [_is_click_id(self.text)]
            case _:
                return [
                    Q(Exact(FoldedColumn(name), Fold(Value(self.text))), **{name: self.text})
                    for name in ("order_id", "source_key")
                ]

    def patterns(self) -> dict[str, str]:
        """Return expressions for the identifier in clear, as a text may quote it, with what each match has in it."""
        if self.kind == IdentifierKind.EMAIL:
            return {email_pattern(self.text): run_of(self.text), **_id_patterns(self.hashes)}
        if self.kind == IdentifierKind.PHONE:
            return {phone_pattern(*_parts_of_number(self.text)): "", **_id_patterns(self.hashes)}
        return _id_patterns([self.text]) if self.kind == IdentifierKind.CLICK_ID else {}

    def key_patterns(self) -> dict[str, str]:
        """Return the same for an order id or source key, which the person's own rows keep."""
        is_key = self.kind == IdentifierKind.ORDER_ID and len(self.text) >= SHORTEST_KEY
        return _id_patterns([self.text]) if is_key else {}


def _id_patterns(texts: Iterable[str]) -> dict[str, str]:
    return {id_pattern(text): run_of(text) for text in texts}


def _parts_of_number(text: str) -> tuple[str, str]:
    """Return the country code and the rest of a phone number; all of it is the rest if no country has the code."""
    from phonenumbers import NumberParseException, parse

    try:
        number = parse(text)
    except NumberParseException:
        return "", "".join(filter(str.isdigit, text))
    return str(number.country_code), str(number.national_number)


@dataclass
class SiteResult:
    """What was found at a site, or erased: rows that have ended, and rows that have not and stay as they are."""

    site: Site
    erased: int = 0
    left: int = 0
    with_address: int = 0  # rows whose source key contains an @, and stays


def find(person: Person, sites: Collection[Site]) -> list[SiteResult]:
    results = []
    with_address = Count(Case(When(source_key__contains="@", then="pk")))
    for site, ids in _rows_by_site(person, sites):
        erasable = Conversion.objects.filter(pk__any_of=ids).erasable()
        counts = erasable.aggregate(rows=Count("pk"), with_address=with_address)
        results.append(SiteResult(site, counts["rows"], len(ids) - counts["rows"], counts["with_address"]))
    return results


def forget(person: Person, sites: Collection[Site]) -> Iterator[SiteResult]:
    """Erase a person's rows; yield what was done after each batch, which is committed as a whole.

    A run that is stopped between batches is completed by another.
    """
    has_rows = False
    ImportLine.objects.about(person.text, sites).delete()
    rows_by_site = _rows_by_site(person, sites)
    _erase_quotes(person, sites, [pk for _, ids in rows_by_site for pk in ids])
    for site, ids in rows_by_site:
        for start in range(0, len(ids), BATCH):
            has_rows = True
            yield _erase(person, site, ids[start : start + BATCH])
    if not has_rows:
        _erase_texts_alone(person, sites)


def _erase_quotes(person: Person, sites: Collection[Site], own_rows: list[UUID]) -> None:
    """Remove what identifies the person from texts about any job of the sites; of all jobs, if these are all sites."""
    rows = Conversion.objects.filter(pk__any_of=own_rows)
    patterns = {**person.patterns(), **_id_patterns(sorted(_identifiers(rows.erasable())))}
    keys = person.key_patterns()
    own_jobs = {*own_rows, *Adjustment.objects.filter(original__in=own_rows).values_list("pk", flat=True)}
    is_everywhere = not Site.objects.exclude(pk__in=[site.pk for site in sites]).exists()
    for jobs in jobs_quoting({**patterns, **keys}):
        allowed = jobs if is_everywhere else _jobs_of_sites(jobs, sites)
        for texts, part in ((patterns, allowed & own_jobs), ({**patterns, **keys}, allowed - own_jobs)):
            if texts and part:
                with _turn():
                    scrub_jobs(texts, objects=part)
    if keys:
        with _turn():
            scrub_tables(keys)


def _jobs_of_sites(jobs: Collection[UUID], sites: Collection[Site]) -> set[UUID]:
    models = (Conversion, Adjustment, Circuit)
    own = {
        pk for model in models for pk in model.objects.filter(pk__in=jobs, site__in=sites).values_list("pk", flat=True)
    }
    return own | {site.pk for site in sites if site.pk in jobs}


def _identifiers(rows: Iterable[Conversion]) -> set[str]:
    return {text for row in rows for text in (getattr(row, name) for name in EMPTY) if text}


def _rows_by_site(person: Person, sites: Collection[Site]) -> list[tuple[Site, list[UUID]]]:
    rows = Conversion.objects.filter(pk__any_of=_find_rows(person, sites), erased_at=None).order_by("pk")
    ids: dict[UUID, list[UUID]] = {}
    for pk, site_id in rows.values_list("pk", "site_id"):
        ids.setdefault(site_id, []).append(pk)
    return [(site, ids[site.pk]) for site in sites if site.pk in ids]


def _find_rows(person: Person, sites: Collection[Site]) -> set[UUID]:
    keys = ConversionKey.objects.filter(site__in=[site.pk for site in sites])
    ids: set[UUID] = set()
    clicks: set[str] = set()
    new = {pk for condition in person.conditions() for pk in keys.filter(condition).values_list("pk", flat=True)}
    while new:
        ids |= new
        new_rows = Conversion.objects.filter(pk__any_of=new)
        new_clicks = {row.click_id for row in new_rows.only(*Conversion.CLICK_IDS)} - clicks - {""}
        clicks |= new_clicks
        originals = set(new_rows.exclude(replaces=None).values_list("replaces", flat=True))
        related = [*map(_is_click_id, new_clicks), Q(pk__in=originals), Q(conversion__replaces__in=new)]
        new = {pk for condition in related for pk in keys.filter(condition).values_list("pk", flat=True)} - ids
    return ids


def _is_click_id(text: str) -> Q:
    # The first is what the index has.
    return Q(Exact(FoldedColumn("click_id"), Fold(Value(text))), click_id=text)


@_turn()
def _erase(person: Person, site: Site, ids: Collection[UUID]) -> SiteResult:
    candidates = Conversion.objects.filter(pk__any_of=ids, erased_at=None)
    candidates.lock_in_order()
    # Only now: a row that was locked may have been erased, or retried.
    ended, left = list(candidates.erasable()), candidates.count()
    ended_ids = [row.pk for row in ended]
    rows = Conversion.objects.filter(pk__any_of=ended_ids)
    jobs = [*ended_ids, *Adjustment.objects.filter(original__in=rows).values_list("pk", flat=True)]
    patterns = [*person.patterns(), *map(id_pattern, sorted(_identifiers(ended)))]
    scrub(patterns, objects=[*jobs, *_sites_and_circuits()])
    scrub_addresses(jobs)
    with erasing():
        rows.update(**EMPTY, erased_at=Now())
    Event.objects.record_each(ended, ERASED)
    result = SiteResult(site, len(ended), left - len(ended), sum("@" in (row.source_key or "") for row in ended))
    _record(person, site, erased=result.erased, left=result.left)
    if ended:
        note_activity(ERASED, site, ended_ids)
    return result


@_turn()
def _erase_texts_alone(person: Person, sites: Collection[Site]) -> None:
    """Remove what people have typed, and record that nothing else was found."""
    scrub(person.patterns(), objects=_sites_and_circuits())
    (site,) = sites if len(sites) == 1 else (None,)
    _record(person, site)


def _sites_and_circuits() -> list[UUID]:
    """Return whose events may quote a person, too: circuits that a row opened, sites paused because of one."""
    return [pk for model in (Circuit, Site) for pk in model.objects.values_list("pk", flat=True)]


def _record(person: Person, site: Site | None, *, erased: int = 0, left: int = 0) -> None:
    name = strip_control_chars(current_context().actor)
    actor = {"actor": name} if name else {}
    Erasure.objects.create(site=site, kind=person.kind, rows_erased=erased, rows_left=left, **actor)

"""Looking conversions up by what shops know them by, through the table of their keys (decision 0019).

A source key finds the conversions that were sent with it, of whatever name, and the corrected copies that were sent in
their place. An id or an order id finds exactly the rows that have it; their links lead to the others.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from kilit.api.presenter import present
from ociqueue.intake.enqueue import versions
from ociqueue.models import Conversion, Site
from ociqueue.models.conversion import PREFIX
from ociqueue.operating.presenters import with_upload
from ociqueue.schemas.columns import columns_of
from ociqueue.schemas.lookups import MOST_FOUND, ConversionFound, Lookup, LookupResult


def look_up(site: Site, lookups: Sequence[Lookup]) -> list[LookupResult]:
    """Return a result for each lookup, with the newest of its conversions; a few queries for all of them."""
    ids_by_lookup = _ids_of(site, lookups)
    newest = [sorted(ids, reverse=True)[: MOST_FOUND + 1] for ids in ids_by_lookup]
    conversions = _shown(site, {pk for ids in newest for pk in ids[:MOST_FOUND]})
    return [_result(index, ids, conversions) for index, ids in enumerate(newest)]


def _ids_of(site: Site, lookups: Sequence[Lookup]) -> list[set[UUID]]:
    source_keys = [lookup.sourceKey for lookup in lookups if lookup.sourceKey is not None]
    by_source_key = _by_text(site, "source_key", source_keys)
    by_order_id = _by_text(site, "order_id", [lookup.orderId for lookup in lookups if lookup.orderId is not None])
    copies = versions(site, {pk for ids in by_source_key.values() for pk in ids})
    ids_by_lookup = []
    for lookup in lookups:
        if lookup.id is not None:
            ids_by_lookup.append({lookup.id})
        elif lookup.orderId is not None:
            ids_by_lookup.append(by_order_id.get(lookup.orderId, set()))
        else:
            ids = by_source_key.get(str(lookup.sourceKey), set())
            ids_by_lookup.append({row.pk for pk in ids for row in copies.get(pk, ())})
    return ids_by_lookup


def _by_text(site: Site, column: str, texts: Collection[str]) -> dict[str, set[UUID]]:
    """Return the newest rows of each text; `with_texts` ignores case, so others may come along."""
    ids_by_text: dict[str, set[UUID]] = {}
    rows = site.conversion_keys.with_texts(column, texts).newest_of_each(column, MOST_FOUND + 1) if texts else None
    for pk, text in rows.values_list("pk", column) if rows is not None else ():
        ids_by_text.setdefault(text, set()).add(pk)
    return ids_by_text


def _shown(site: Site, ids: Collection[UUID]) -> dict[UUID, Any]:
    rows = list(with_upload(Conversion.objects.for_site(site).filter(pk__any_of=list(ids))))
    links, names = links_of(rows), ConversionFound.__annotations__
    return {row.pk: present(row, ConversionFound, **{**columns_of(row, names), **links[row.pk]}) for row in rows}


def _source_keys_of(rows: Sequence[Conversion]) -> dict[UUID, str | None]:
    """Return the source key of each row; a copy leaves it with its original, and is known by it all the same."""
    keys = {row.pk: row.source_key for row in rows}
    above = {row.pk: row.replaces_id for row in rows if row.replaces_id and row.source_key is None}
    while above:
        rows_above = Conversion.objects.filter(pk__any_of=set(above.values()))
        originals = {
            pk: (key, original) for pk, key, original in rows_above.values_list("pk", "source_key", "replaces")
        }
        keys |= {pk: originals[original][0] for pk, original in above.items() if original in originals}
        next_above = {pk: originals[original][1] for pk, original in above.items() if original in originals}
        above = {pk: original for pk, original in next_above.items() if original and keys[pk] is None}
    return keys


def links_of(rows: Sequence[Conversion]) -> dict[UUID, dict[str, str | None]]:
    """Return how rows are known and which other rows they name."""
    source_keys = _source_keys_of(rows)
    replaced = [row.pk for row in rows if row.is_replaced]
    copies = Conversion.objects.filter(replaces__in=replaced).values_list("replaces", "pk") if replaced else ()
    names = {original: f"{PREFIX}{pk}" for original, pk in copies}
    return {
        row.pk: {
            "sourceKey": source_keys[row.pk],
            "replaces": f"{PREFIX}{row.replaces_id}" if row.replaces_id else None,
            "replacedBy": names.get(row.pk),
        }
        for row in rows
    }


def _result(index: int, ids: Sequence[UUID], conversions: Mapping[UUID, ConversionFound]) -> LookupResult:
    newest = [conversions[pk] for pk in ids[:MOST_FOUND] if pk in conversions]
    return {
        "index": index,
        "status": "found" if newest else "notFound",
        "conversions": newest,
        "hasMore": len(ids) > MOST_FOUND,
    }

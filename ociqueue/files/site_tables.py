"""A file of one site, or of many: then the column `siteId` has the public id of each line's site.

What a line says of a site that its reader may not act on is rejected like a site that does not exist.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import IO
from uuid import UUID

from django.utils.translation import gettext as _

from kilit.csv.reader import BATCH, CsvLine, FileTally, LineReader, RejectedLine, column_names
from kilit.csv.text import CsvError, TableHeader
from kilit.sites.models import SiteQuerySet
from ociqueue.files.table import CsvTable, unreadable_line
from ociqueue.models import Site
from ociqueue.models.import_job import SITE_COLUMN, LineIndex


class SiteTables:
    """The tables of a file: one for each site that its lines name. They know its header, and never read the file."""

    def __init__(self, kind: type[CsvTable], site: Site | None, header: TableHeader) -> None:
        self.kind, self.site, self.header = kind, site, header
        self._tables: dict[UUID, CsvTable] = {}
        if site:
            self.of(site)  # it refuses columns that the site does not accept
        elif SITE_COLUMN not in column_names(header, kind.aliases):
            raise CsvError(_("Choose a site, or add a column siteId with the public id of each line's site."))

    def reader(self, stream: IO[bytes]) -> LineReader:
        """Return the lines of the file as they are written; CsvError if the kind has other columns."""
        columns = self.kind.columns(self.site)
        return LineReader(
            stream,
            self.header,
            known=(*columns.known, SITE_COLUMN),
            required=columns.required,
            one_of=columns.one_of,
            ignored=[name for name in self.kind.ignored if name != SITE_COLUMN],
            aliases=self.kind.aliases,
        )

    def add_keys(self, lines: Sequence[CsvLine], index: LineIndex, *, mark: str, sites: SiteQuerySet[Site]) -> None:
        parts, _rejected = self._parts(lines, sites)
        for table, own_lines in parts:
            index.of_site(table.site).add(table.keys(list(table.read(own_lines, mark))))

    def process(
        self, lines: Sequence[CsvLine], index: LineIndex, *, mark: str, sites: SiteQuerySet[Site], dry_run: bool
    ) -> FileTally:
        """Store lines of these sites, or say what would become of them."""
        parts, rejected = self._parts(lines, sites)
        tally = self.kind.tally(lines=len(rejected), rejected=rejected, rejected_lines=len(rejected))
        for table, own_lines in parts:
            read = list(table.read(own_lines, mark))
            part = table.process_batch(read, index.of_site(table.site), dry_run=dry_run)
            if not dry_run and self.site is None:
                table.record(table.site, part.created)
            tally.add(part, most=BATCH)
        for reported in (tally.rejected, getattr(tally, "differing", [])):
            reported[:] = sorted(self._named(reported, lines), key=lambda entry: entry.line.number)
        return tally

    def _parts(
        self, lines: Sequence[CsvLine], sites: SiteQuerySet[Site]
    ) -> tuple[list[tuple[CsvTable, list[CsvLine]]], list[RejectedLine]]:
        """Return the lines of each site, and those of no site.

        Each part takes locks of its site, so all batches have them in one order, whatever the order of the lines.
        """
        names = {name for line in lines if (name := line.cells.get(SITE_COLUMN))}
        own = {self.site.public_id: self.site, "": self.site} if self.site else {}
        sites_by_name = own or {site.public_id: site for site in sites.filter(public_id__in=names)}
        parts: dict[UUID, tuple[CsvTable, list[CsvLine]]] = {}
        rejected = []
        for line in lines:
            site, fault = sites_by_name.get(line.cells.get(SITE_COLUMN, "")), line.fault or self._fault(line)
            try:
                table = self.of(site) if site else None
            except CsvError as error:  # the site accepts no such columns
                table, fault = None, str(error)
            if table is None:
                rejected.append(unreadable_line(line, fault))
            else:
                cells = {name: cell for name, cell in line.cells.items() if name != SITE_COLUMN}
                parts.setdefault(table.site.pk, (table, []))[1].append(replace(line, cells=cells))
        return [part for _site, part in sorted(parts.items())], rejected

    def of(self, site: Site) -> CsvTable:
        if site.pk not in self._tables:
            self._tables[site.pk] = self.kind(site, self.header)
        return self._tables[site.pk]

    def _fault(self, line: CsvLine) -> str:
        if self.site:
            return _("The line is of another site than the one that was chosen.")
        if SITE_COLUMN not in line.cells:
            return _("The siteId is missing.")
        return _("There is no site with this siteId, or you may not import into it.")

    def _named(self, rejected: Sequence[RejectedLine], lines: Sequence[CsvLine]) -> Iterator[RejectedLine]:
        """Give lines their sites again: they are corrected, and come back."""
        names = {line.number: line.cells.get(SITE_COLUMN, "") for line in lines}
        for entry in rejected:
            name, cells = names[entry.line.number], entry.line.cells
            is_named = name and cells
            yield replace(entry, line=replace(entry.line, cells={SITE_COLUMN: name} | cells)) if is_named else entry

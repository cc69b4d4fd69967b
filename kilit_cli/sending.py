"""The commands that send: conversions of a CSV file, a document to render, an order as a sheet."""

import codecs
import csv
import json
import re
import sys
import time
from collections.abc import Iterator
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import RenderableType
from rich.progress import track

from kilit_cli.api import JsonObject
from kilit_cli.asking import connect
from kilit_cli.failures import ExitCode, Failure
from kilit_cli.output import AsJson, below, line, notes, number, show, table, tint

BATCH = 500  # conversions in a request, of the 5,000 that the server takes: progress is seen, and 5 MB suffice
LARGEST_FILE = 200_000_000
MOST_LINES_SHOWN = 20
COUNTED = ("created", "corrected", "duplicates", "invalid", "withheld")
FINISHED = ("succeeded", "failed", "expired")
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 2.0
DECIMAL_COMMA = re.compile(r"\d+,\d{1,2}")  # 1,250 could be either, so the server refuses it
NO_KEYS = "The file has no column sourceKey, so a line that is sent twice would count twice."
SEND_AGAIN = "Send the file again: lines that are stored are duplicates."
HEADINGS = "The headings are the API's field names: conversionName, gclid, conversionTime, conversionValue, sourceKey …"
Input = Annotated[Path, Parameter(allow_leading_hyphen=True, help="The file; - is standard input.")]
Site = Annotated[str | None, Parameter(help="The site's public id; a site's own key needs none.")]
DryRun = Annotated[bool, Parameter(negative="", help="Only check; nothing is stored.")]
Target = Annotated[
    Path | None, Parameter(alias="-o", allow_leading_hyphen=True, help="Where the PDF goes; - is standard output.")
]
Wait = Annotated[int, Parameter(help="Seconds to wait at most.")]
Fields = Annotated[str, Parameter(help="What the sheet does not say.")]


def enqueue(file: Input, *, site: Site = None, dry_run: DryRun = False, json: AsJson = False) -> ExitCode:
    """Send the conversions of a CSV file with the API's field names as headings; sent again, lines are duplicates.

    Exits with 1 if lines were rejected; the others are stored.
    """
    api, items = connect(), read_lines(_content(file))
    total: JsonObject = {"dryRun": dry_run, "lines": len(items), **dict.fromkeys(COUNTED, 0), "rejected": []}
    batches = [list(items)[start : start + BATCH] for start in range(0, len(items), BATCH)]
    options: JsonObject = ({"siteId": site} if site else {}) | ({"dryRun": True} if dry_run else {})
    for batch in track(batches, "Sending", console=notes, transient=True, disable=not notes.is_terminal):
        body = {"conversions": [items[number] for number in batch], **options}
        answer = api.patiently(partial(api.post, "/api/oci/conversions", body))
        if [result["index"] for result in answer["results"]] != list(range(len(batch))):
            raise Failure(f"There is not one result for each line from line {batch[0]} on.", SEND_AGAIN)
        for name in COUNTED:
            total[name] += answer.get(name, 0)
        rejected = [result for result in answer["results"] if result.get("errors")]
        total["rejected"] += [{"line": batch[result["index"]], "errors": result["errors"]} for result in rejected]
    show(total, draw_enqueued, as_json=json)
    return ExitCode.REFUSED if total["rejected"] else ExitCode.DONE


def read_lines(content: bytes) -> dict[int, dict[str, str]]:
    """Return the conversions by the numbers of their lines; empty lines are none."""
    text = _decode(content)
    heading = text.partition("\n")[0]
    rows = csv.DictReader(StringIO(text), delimiter=max(";\t,", key=heading.count), strict=True, restkey="", restval="")
    items: dict[int, dict[str, str]] = {}
    try:
        if "sourceKey" not in (rows.fieldnames or ()):
            raise Failure(NO_KEYS, HEADINGS, ExitCode.USAGE)
        for row in rows:
            if "" in row:
                raise Failure(f"Line {rows.line_num} has more cells than headings.", HEADINGS, ExitCode.USAGE)
            # The column `reason` is of a file of rejected lines.
            item = {name: cell.strip() for name, cell in row.items() if cell.strip() and name != "reason"}
            if DECIMAL_COMMA.fullmatch(value := item.get("conversionValue", "")):
                item["conversionValue"] = value.replace(",", ".")
            items |= {rows.line_num: item} if item else {}
    except csv.Error as error:
        raise Failure(f"Line {rows.reader.line_num} cannot be read: {error}.", "", ExitCode.USAGE) from None
    return items


def _decode(content: bytes) -> str:
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16", "replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1254", "replace")  # Turkish Windows


def draw_enqueued(answer: JsonObject) -> Iterator[RenderableType]:
    counts = ", ".join(f"{number(answer[name])} {name}" for name in COUNTED if answer[name]) or "nothing to send"
    would = "Dry run, nothing is stored. " if answer["dryRun"] else ""
    yield tint(f"{would}{number(answer['lines'])} lines: {counts}.", "warning" if answer["rejected"] else "done")
    for rejected in answer["rejected"][:MOST_LINES_SHOWN]:
        for error in rejected["errors"]:
            yield from below(line(f"Line {rejected['line']}", error["field"], error["message"]))
    if len(answer["rejected"]) > MOST_LINES_SHOWN:
        yield from below("… --json has all of them.")


def pdf(template: Input, *, out: Target = None, wait: Wait = 180, json: AsJson = False) -> None:
    """Render a document, wait for it, and store the PDF; the file has template_name, variables and options as JSON."""
    api, ends, pause = connect(), time.monotonic() + wait, FIRST_PAUSE
    target = out or Path(template.name).with_suffix(".pdf")
    with notes.status("Requested …") as status:
        job = api.post("/pdf/jobs", _json_of(template))
        path = f"/pdf/jobs/{job['job_id']}"
        for warning in job.get("warnings", []):
            notes.print(tint(warning["message"], "warning"))
        while job["status"] not in FINISHED:
            if time.monotonic() > ends:
                advice = "The same command waits on for the same document; --wait sets how long."
                raise Failure(f"It is {job['status']} after {wait} seconds.", advice, ExitCode.UNREACHABLE)
            status.update(f"{str(job['status']).capitalize()} …")
            time.sleep(pause)
            pause = min(1.5 * pause, LONGEST_PAUSE)
            job = api.patiently(partial(api.get, path))
        content = api.download(f"{path}/download", begins=b"%PDF-")  # refused with the reason, if the job failed
    if target.name == "-":
        sys.stdout.buffer.write(content)
        return
    target.write_bytes(content)
    stored = {"job_id": job["job_id"], "status": job["status"], "file": str(target), "size": len(content)}
    show(stored, lambda _: [tint(f"{target}: {number(len(content))} bytes.", "done")], as_json=json)


def order(file: Input, *, dry_run: DryRun = False, json: AsJson = False, **fields: Fields) -> None:
    """Send an order as a sheet, XLSX or CSV; the same order sent again is the same job.

    What the sheet does not say is an option: --customer-phone, --material-code, --edge, --color, --thickness-mm,
    --order-id, --opti-mode, --priority, --revision, --customer-snapshot-name, --sheet.
    """
    form = {name.replace("-", "_"): value for name, value in fields.items()} | ({"dry_run": "true"} if dry_run else {})
    show(connect().post_form("/jobs/import", form, file.name, _content(file)), draw_order, as_json=json)


def draw_order(answer: JsonObject) -> Iterator[RenderableType]:
    if "order" in answer:
        yield tint(f"{number(len(answer['order']['parts']))} parts can be read. Nothing is stored.", "done")
        sources = [(source["field"], source["value"], source["origin"], source["cell"]) for source in answer["sources"]]
        yield table("Field", "Value", "From", "Cell", rows=sources)
    else:
        job, done = answer["job"], "was sent before" if answer["deduplicated"] else "is stored"
        yield tint(f"Order {job['order_id']} {done}: job {job['id']}, {job['state']}.", "done")
    for job in answer["similar_to"]:
        yield tint(f"It may repeat {job['order_id']} ({job['job_id']}).", "warning")


def _json_of(file: Path) -> object:
    try:
        return json.loads(_content(file))
    except (ValueError, RecursionError) as error:
        raise Failure(f"{file} is not JSON: {error}.", "", ExitCode.USAGE) from None


def _content(file: Path) -> bytes:
    content = sys.stdin.buffer.read(LARGEST_FILE + 1) if file.name == "-" else file.read_bytes()
    if len(content) > LARGEST_FILE:
        raise Failure(f"{file} is larger than {number(LARGEST_FILE)} bytes.", "", ExitCode.USAGE)
    return content

"""Runs Ads Scripts as Google would, with Playwright's own Node; `ads_script.js` holds the stand-ins."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright._impl._driver import compute_driver_executable

from ociqueue.models import Conversion, Site
from ociqueue.script.ads_script import render_script
from tests.support.conversions import new_conversion
from tests.support.waiting import PATIENCE

HARNESS = Path(__file__).with_suffix(".js")
EXPORT, ACK, ACK_FAILED = "/api/oci/google-ads-export", "/api/oci/ack", "/api/oci/ack-failed"
# What `outcomes` tells of a row.
COMPLETED = ("COMPLETED", "", "", "")
BAD_TIME = ("FAILED", "INVALID_TIME_FORMAT", "VALIDATION", "Expected yyyy-mm-dd HH:mm:ss±HH:mm")
NOT_TAKEN = ("FAILED", "UPLOAD_EXCEPTION", "TRANSIENT", "Service unavailable, try later")
# Of every upload, after the click id.
SHARED_COLUMNS = ["Conversion Name", "Conversion Time", "Conversion Value", "Conversion Currency", "Order ID"]


@dataclass(frozen=True)
class Run:
    """What a script did, as its surroundings saw it."""

    queries: list[str]
    uploads: list[dict[str, Any]]
    requests: list[dict[str, Any]]
    logs: list[str]
    sleeps: list[float]
    error: str | None

    @property
    def calls(self) -> list[str]:
        return [request["path"] for request in self.requests]

    def bodies(self, path: str) -> list[dict[str, Any]]:
        return [json.loads(request["body"]) for request in self.requests if request["path"] == path]

    def cells(self, column: str) -> list[Any]:
        return [
            row[upload["columns"].index(column)]
            for upload in self.uploads
            if column in upload["columns"]
            for row in upload["rows"]
        ]


def run_under_node(source: str, **circumstances: Any) -> Run:
    """Run a script to its end; `ads_script.js` tells what circumstances there are."""
    node, _ = compute_driver_executable()
    ended = subprocess.run(
        [node, HARNESS],
        input=json.dumps({"source": source, **circumstances}),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=PATIENCE,
        check=True,
    )
    return Run(**json.loads(ended.stdout))


def run_site_script(base_url: str, site: Site, *, api_key: str = "", **circumstances: Any) -> Run:
    """Run the very script that the console offers for a site."""
    source = render_script(
        base_url=base_url,
        site_id=site.public_id,
        api_key=api_key or site.issue_key(name="script"),
        time_zone=site.time_zone,
    )
    return run_under_node(source, **circumstances)


def make_many(site: Site, count: int) -> list[Conversion]:
    """Queue rows in bulk."""
    return Conversion.objects.bulk_create([new_conversion(site, gclid=f"click-{number}") for number in range(count)])


def outcomes(*rows: Conversion) -> list[tuple[str, str, str, str]]:
    """Return state and error of each row, as they are now."""
    columns = ("status", "provider_error_code", "provider_error_category", "last_error")
    return [Conversion.objects.values_list(*columns).get(pk=row.pk) for row in rows]


def fresh(row: Conversion) -> Conversion:
    """Return a row as it is now."""
    return Conversion.objects.get(pk=row.pk)

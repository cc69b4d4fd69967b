"""`make audit`: the known vulnerabilities of every pinned package, as PyPI lists them.

Exit code 0: every package was looked up, and none has one. 1: at least one has. 2: some could not be looked up, and the
rest has none. Vulnerabilities that do not concern us are accepted in pyproject.toml, with a reason and until a day.
"""

import json
import os
import re
import sys
import tomllib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from http.client import HTTPException
from pathlib import Path
from ssl import create_default_context
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ("requirements.txt", "requirements-dev.txt", "requirements-runner.txt")
PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==([^\s;\\]+)", re.MULTILINE)
TIMEOUT, CONNECTIONS, NOT_FOUND = 10, 8, 404
TLS = create_default_context()  # once: it reads all certificates of the machine
CLEAN, VULNERABLE, UNKNOWN = 0, 1, 2


@dataclass(frozen=True)
class Vulnerability:
    package: str
    version: str
    names: frozenset[str]  # its id and aliases: CVE-…, GHSA-…, PYSEC-…
    fixed_in: tuple[str, ...]

    def __str__(self) -> str:
        name = min(self.names, key=lambda each: (not each.startswith("CVE"), each))
        fixed = f"fixed in {', '.join(self.fixed_in)}" if self.fixed_in else "no fix yet"
        return f"{self.package:<24} {self.version:<14} {name:<22} {fixed}"


@dataclass
class Audit:
    packages: int = 0
    found: list[str] = field(default_factory=list)
    accepted: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)

    def add(self, vulnerability: Vulnerability, accepted: dict[str, dict[str, Any]], today: date) -> None:
        rules = [accepted[name] for name in vulnerability.names if name in accepted]
        if not rules:
            self.found.append(str(vulnerability))
        elif (until := max(rule["until"] for rule in rules)) < today:
            self.found.append(f"{vulnerability} (was accepted until {until})")
        else:
            self.accepted.append(f"{vulnerability} (until {until}: {rules[0]['reason']})")

    def __str__(self) -> str:
        parts = {"Vulnerable": self.found, "Accepted": self.accepted, "Not looked up": self.unknown}
        tables = [f"{title}:\n" + "\n".join(f"  {line}" for line in lines) for title, lines in parts.items() if lines]
        return "\n\n".join([*tables, self.summary()])

    def summary(self) -> str:
        known = f"{self.packages} packages, {len(self.found)} known vulnerabilities"
        missing = f"; {len(self.unknown)} packages could not be looked up" if self.unknown else ""
        return f"{known}{missing}."

    @property
    def exit_code(self) -> int:
        return VULNERABLE if self.found else UNKNOWN if self.unknown else CLEAN


def audit(folder: Path, index: str, today: date) -> Audit:
    locks = [(folder / name).read_text(encoding="utf-8") for name in LOCKS]
    pins = sorted({pin for lock in locks for pin in PIN.findall(lock)})
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    accepted = {rule["id"]: rule for rule in project["tool"].get("audit", {}).get("accepted", [])}
    result = Audit(packages=len(pins))
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        for (package, version), answer in zip(pins, pool.map(lambda pin: _look_up(index, *pin), pins), strict=True):
            if isinstance(answer, str):
                result.unknown.append(f"{package:<24} {version:<14} {answer}")
                continue
            for vulnerability in answer:
                result.add(vulnerability, accepted, today)
    return result


def _look_up(index: str, package: str, version: str) -> list[Vulnerability] | str:
    """Return what PyPI lists for a version, or why that is not known.

    Some mirrors serve only the page of a project, which describes its newest version.
    """
    try:
        page = _read(f"{index}/pypi/{package}/{version}/json") or _read(f"{index}/pypi/{package}/json")
        if page is None:
            return "the index does not know it"
        if page["info"]["version"] != version:
            return f"the index describes {page['info']['version']} only"
        return _distinct(package, version, page["vulnerabilities"])
    except (OSError, HTTPException) as error:
        return f"no answer: {error}"
    except (ValueError, LookupError, TypeError):
        return "the answer does not list vulnerabilities"


def _read(address: str) -> dict[str, Any] | None:
    try:
        with urlopen(address, timeout=TIMEOUT, context=TLS) as response:
            page: dict[str, Any] = json.load(response)
            return page
    except HTTPError as error:
        if error.code == NOT_FOUND:
            return None
        raise


def _distinct(package: str, version: str, listed: Iterable[dict[str, Any]]) -> list[Vulnerability]:
    """Join what several databases list under names of their own."""
    distinct: list[Vulnerability] = []
    for entry in listed:
        if entry.get("withdrawn"):
            continue
        one = Vulnerability(package, version, frozenset([entry["id"], *entry["aliases"]]), tuple(entry["fixed_in"]))
        for other in [other for other in distinct if other.names & one.names]:
            distinct.remove(other)
            one = Vulnerability(package, version, one.names | other.names, one.fixed_in or other.fixed_in)
        distinct.append(one)
    return distinct


if __name__ == "__main__":
    index = os.environ.get("AUDIT_INDEX", "https://pypi.org").rstrip("/")
    outcome = audit(ROOT, index, datetime.now(UTC).date())
    sys.stdout.write(f"{outcome}\n")
    sys.exit(outcome.exit_code)

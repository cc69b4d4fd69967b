"""The documents' links, the changelog and the map agree with the repository."""

import re
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

from kilit import __version__
from kilit.batches.queues import queues
from tests.support.commands import ROOT
from tests.support.packages import PRODUCT
from tests.support.repository_map import DIAGRAM, MAP, ROW, Room, contracts, diagram, rooms

PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
QUEUES = {queue.model._meta.app_label for queue in queues.values()}
KINDS = ("Guide", "Reference", "Explanation")
LINES_OFF = 200  # files change every day; the map shows the proportions


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings_that_exist(page: Path) -> None:
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)

    assert broken == []


def test_every_command_of_manage_in_the_documents_has_these_options() -> None:
    """`make nightly` runs them as they are."""
    blocks = "\n".join(
        block
        for page in PAGES
        for block in re.findall(r"^```sh\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    )
    lines = re.findall(r"manage\.py ([a-z_]+)([^|;&)\n]*)", blocks.replace("\\\n", " "))
    assert len(lines) > 20
    for name, rest in lines:
        command = load_command_class(get_commands()[name], name)
        known = {
            option for action in command.create_parser("manage.py", name)._actions for option in action.option_strings
        }
        assert set(re.findall(r"(?<!\S)--[a-z-]+", rest)) <= known, f"{name}{rest}"


def test_each_page_says_its_kind_and_is_listed_under_it() -> None:
    index = (ROOT / "docs" / "README.md").read_text()
    sections = dict(
        zip(KINDS, re.split(r"^## (?:Guides|Reference|Explanation)$", index, flags=re.MULTILINE)[1:], strict=True)
    )
    pages = [page for page in (ROOT / "docs").glob("*.md") if page.name != "README.md"]
    kinds = {page.name: page.read_text().splitlines()[2].strip("*") for page in pages}

    assert [name for name, kind in kinds.items() if f"]({name})" not in sections.get(kind, "")] == []
    assert all(f"\n\n*{KINDS[-1]}*\n" in page.read_text() for page in (ROOT / "docs" / "decisions").glob("*.md"))


def test_the_changelog_has_a_dated_section_for_the_version() -> None:
    heading = rf"^## {re.escape(__version__)} - \d{{4}}-\d\d-\d\d$"

    assert re.search(heading, (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)


def test_the_map_has_every_package_of_the_tree() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests"}

    assert {room.path for room in rooms() if "/" not in room.path} == packages
    assert all(contract["exhaustive"] for contract in contracts() if "containers" in contract)


def test_the_map_lists_every_room_with_the_imports_that_its_contract_allows() -> None:
    def by_container(row: tuple[str, str]) -> str:
        return row[0].rpartition("/")[0]

    listed = [(row["room"], row["imports"]) for row in ROW.finditer(MAP.read_text())]
    allowed = [(room.path, room.imports) for room in rooms()]

    # In the order of the layers, because "everything from `x` down" is read from it.
    assert sorted(listed, key=by_container) == sorted(allowed, key=by_container)


def test_the_map_says_what_every_room_holds() -> None:
    assert [row["room"] for row in ROW.finditer(MAP.read_text()) if not re.search("[a-z]", row["holds"])] == []


@pytest.mark.parametrize("room", rooms(), ids=lambda room: room.path)
def test_the_map_shows_how_large_a_room_is(room: Room) -> None:
    stated = {row["room"]: int(row["lines"].replace(",", "")) for row in ROW.finditer(MAP.read_text())}
    lines = int(room.lines.replace(",", ""))

    assert abs(stated[room.path] - lines) <= max(LINES_OFF, lines // 10), "run python -m tests.support.repository_map"


def test_the_diagram_of_imports_is_that_of_the_contracts() -> None:
    drawn = DIAGRAM.search(MAP.read_text())

    assert drawn is not None
    assert drawn[0] == diagram(), "run python -m tests.support.repository_map"


def test_the_guide_to_a_new_queue_names_every_file_that_lists_all_queues() -> None:
    step = (ROOT / "CONTRIBUTING.md").read_text().partition("**8. ")[2].partition("**9. ")[0]
    product = (path for package in PRODUCT for path in (ROOT / package).rglob("*.py"))
    others = (ROOT / name for name in ("pyproject.toml", "Makefile", "Procfile", ".dockerignore", "deploy/Dockerfile"))
    listing = [
        str(path.relative_to(ROOT))
        for path in [*product, *others]
        if all(re.search(rf"\b{queue}\b", path.read_text()) for queue in QUEUES)
    ]

    assert listing
    assert [name for name in sorted(listing) if f"`{name}`" not in step] == []

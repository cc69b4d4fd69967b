"""Labels: each side's band where it belongs, and no more labels than can be rendered."""

import re
from html.parser import HTMLParser
from typing import Any

import pytest

from kilit.api.input_model import InvalidInput
from pdfjobs.documents import document
from pdfjobs.documents.kinds.labels import AT_ONCE, FORMATS, MOST_LABELS
from pdfjobs.documents.panels import CutPanel, drawing
from pdfjobs.job_request import parse_job_request
from pdfjobs.rendering.renderer import MOST_HTML
from tests.support.pdf_jobs import body, errors_of

LABELS = document("labels")
BLANK = {name: value for name, value in LABELS.sample["labels"][0].items() if not name.startswith("edge_")}


class Texts(HTMLParser):
    """Collects the texts of drawings, with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.attributes: dict[str, str | None] | None = None
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes = dict(attrs) if tag == "text" else None

    def handle_data(self, data: str) -> None:
        if self.attributes is not None:
            self.found.append((data, self.attributes))
            self.attributes = None


@pytest.mark.parametrize(
    ("side", "line", "anchor"),
    [
        ("edge_up", "M23.00 10.00H77.00", "middle"),
        ("edge_lo", "M23.00 36.00H77.00", "middle"),
        ("edge_sx", "M23.00 10.00V36.00", "end"),
        ("edge_dx", "M77.00 10.00V36.00", "start"),
    ],
)
def test_a_banded_side_is_drawn_where_it_is_with_its_name_beside_it(side: str, line: str, anchor: str) -> None:
    """The length lies across: up is the top, lo the bottom, sx the left and dx the right."""
    shown = drawing(CutPanel.read({"length": 540, "width": 260, side: "2mm"}))
    page = LABELS.html(LABELS.sample | {"labels": [BLANK | {"length": 540, "width": 260, side: "2mm", "grain": 0}]})

    assert shown["outline"] == "M23.00 10.00H77.00V36.00H23.00Z"
    assert shown["banded"] == line
    ((name, where),) = Texts(page).found
    assert (name, where["text-anchor"]) == ("2mm", anchor)
    assert f'class="banded" d="{line}"' in page
    x, y = float(where["x"] or 0), float(where["y"] or 0)
    beside = {"edge_up": y < 10, "edge_lo": y > 36, "edge_sx": x < 23, "edge_dx": x > 77}
    assert [found for found, is_there in beside.items() if is_there] == [side]


def test_a_part_without_bands_has_no_thick_side() -> None:
    page = LABELS.html(LABELS.sample | {"labels": [BLANK]})

    assert 'class="outline"' in page
    assert 'class="banded"' not in page


@pytest.mark.parametrize(("grain", "arrow"), [(0, None), (1, "↔"), (2, "↕"), (3, "↔↕")])
def test_the_arrow_shows_the_grain(grain: int, arrow: str | None) -> None:
    page = LABELS.html(LABELS.sample | {"labels": [BLANK | {"grain": grain}]})

    assert [text for text, _ in Texts(page).found] == ([arrow] if arrow else [])


@pytest.mark.parametrize("label_format", FORMATS)
def test_the_format_sets_the_page(label_format: str) -> None:
    request = parse_job_request(body("labels", variables=LABELS.sample | {"format": label_format}))
    stored = request.options.canonical()

    width, height = request.options.size()
    assert (width, height) == ((100, 50) if label_format == "100x50" else (210, 297))
    assert stored["margin"] == {"top": 0, "right": 0, "bottom": 0, "left": 0}
    assert stored["footer"] is None
    sheets = LABELS.shape(LABELS.model.read(request.variables))["sheets"]
    assert max(map(len, sheets)) <= FORMATS[label_format].per_page


@pytest.mark.parametrize("options", [{"paper": "A5"}, {"footer": {"left": "x"}}, {"landscape": False}])
def test_options_that_the_format_sets_cannot_be_sent(options: dict[str, Any]) -> None:
    (name,) = options

    with pytest.raises(InvalidInput, match=rf"options.{name}: This template sets it from its variables."):
        parse_job_request(body("labels", options=options))


def test_other_options_can() -> None:
    request = parse_job_request(body("labels", options={"pages": "2", "metadata": {"title": "Etiketler"}}))

    assert (request.options.pages, request.options.metadata.title) == ("2", "Etiketler")


@pytest.mark.parametrize(("name", "length"), [("part", 64), ("drill_code", 200)])
@pytest.mark.parametrize("letter", ["W", "\N{ARABIC LETTER SEEN}"])
def test_ids_and_drill_codes_are_printed_whole(name: str, length: int, letter: str) -> None:
    text = letter * length

    page = LABELS.html(LABELS.sample | {"labels": [BLANK | {name: text}], "order_number": letter * 100})

    assert f"<bdi>{text}</bdi>" in page or f'<bdi class="name name-2">{text}</bdi>' in page
    assert f'<bdi class="id id-2">{letter * 100}</bdi>' in page


def test_every_format_divides_what_is_printed_at_once_into_whole_sheets() -> None:
    """So that a long document, printed in parts, has no half-used sheet between them."""
    assert [AT_ONCE % label_format.per_page for label_format in FORMATS.values()] == [0, 0, 0]


def test_a_long_document_is_printed_in_parts_with_each_label_once() -> None:
    labels = [BLANK | {"part": f"p{number}", "number": number} for number in range(1, 2 * AT_ONCE + 2)]

    pages = list(LABELS.pages(LABELS.sample | {"labels": labels}))

    assert [page.count('class="piece"') for page in pages] == [AT_ONCE, AT_ONCE, 1]
    assert [number for page in pages for number in re.findall(r"#(\d+)</p>", page)] == [
        str(label["number"]) for label in labels
    ]


@pytest.mark.parametrize("code", ["1", "1" * 300, "A" * 300, "a", "a" * 25, "a" * 300, "\N{GRINNING FACE}" * 300])
def test_the_size_that_is_known_beforehand_is_not_above_the_real_one(code: str) -> None:
    small = {
        "part": "1",
        "piece": 1,
        "pieces": 1,
        "number": 1,
        "material": "m",
        "thickness": 1,
        "length": 1,
        "width": 1,
    }
    variables: Any = {"job": "j", "order_number": "o", "labels": [small | {"code": code}] * 3}

    least = LABELS.least_html(LABELS.model.read(variables))
    one, three = (len(LABELS.html(variables | {"labels": variables["labels"][:count]}).encode()) for count in (1, 3))

    assert 0 < least < (three - one) * 3 / 2


@pytest.mark.parametrize("text", ['"', "&", "\N{GRINNING FACE}"])
def test_as_many_labels_as_are_printed_at_once_with_the_longest_texts_are_not_too_large_to_render(text: str) -> None:
    sides = dict.fromkeys(("edge_up", "edge_lo", "edge_sx", "edge_dx"), text * 32)
    texts = {"part": text * 64, "note": text * 200, "material": text * 64, "color": text * 100}
    label = BLANK | texts | sides | {"drill_code": text * 200, "grain": 3}
    variables = LABELS.sample | {"job": text * 60, "order_number": text * 100, "customer": text * 200}

    one, two = (len(LABELS.html(variables | {"labels": [label] * count}).encode()) for count in (1, 2))
    assert one + (two - one) * AT_ONCE < MOST_HTML - 512 * 1024
    assert errors_of(LABELS, variables | {"labels": [label] * (MOST_LABELS + 1)}) == [
        f"labels: Expected a list of 1 to {MOST_LABELS} objects."
    ]

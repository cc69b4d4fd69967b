"""Documents: the allowlist, the schema, the digest, the template."""

import copy
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import pytest
from django.conf import settings as project
from hypothesis import given
from hypothesis import strategies as st

from pdfjobs import documents
from pdfjobs.documents import DocumentError, UnknownTemplateError, document
from pdfjobs.documents.definition import Document, _engine
from pdfjobs.documents.fields import MOST_ERRORS, Text, Variables, walk
from tests.support.examples import a_hundred_times
from tests.support.pdf_jobs import errors_of

NAMES = ["invoice", "offer", "delivery_note", "cutting_sheet", "labels", "conversion_report"]
TEMPLATES = Path(project.BASE_DIR) / "templates" / "pdf"


@pytest.fixture
def own_templates(settings, tmp_path: Path):
    """Templates of this test, in a folder of its own."""
    settings.BASE_DIR = tmp_path
    (tmp_path / "templates" / "pdf").mkdir(parents=True)
    _engine.cache_clear()
    yield tmp_path / "templates" / "pdf"
    _engine.cache_clear()


class Letter(Variables):
    name: Annotated[str, Text(200)]


def letter() -> Document:
    return Document("letter", "Letter", Letter, _as_it_is)


def _as_it_is(given_values: Letter) -> dict[str, Any]:
    return dict(given_values)


def changed(sample: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return a copy of a sample with one value replaced; the path is as in error messages."""
    variables = copy.deepcopy(sample)
    *way, last = path.split(".")
    place: Any = variables
    for step in way:
        place = place[int(step)] if step.isdigit() else place[step]
    place[last] = value
    return variables


@a_hundred_times()
@given(
    name=st.text(max_size=20) | st.sampled_from([*NAMES, "../secret", "Invoice"]),
    allowed=st.sets(st.sampled_from(NAMES)),
)
def test_only_names_on_the_list_are_rendered(settings, name: str, allowed: set[str]) -> None:
    """Feature: pdf-render-worker, Property 5: Allowlist Doğrulaması. An empty list refuses all."""
    settings.PDF_TEMPLATES = sorted(allowed)

    if name in allowed:
        assert document(name).name == name
    else:
        with pytest.raises(UnknownTemplateError) as refused:
            document(name)
        assert refused.value.allowed == sorted(allowed)
    assert {known.name for known in documents.documents()} == allowed


def test_an_unknown_name_on_the_list_is_left_out(settings) -> None:
    settings.PDF_TEMPLATES = ["../../etc/passwd", "invoice", "_page"]

    assert [kind.name for kind in documents.documents()] == ["invoice"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("locale", ["tr", "en"])
def test_each_sample_is_good_and_becomes_a_page(name: str, locale: str) -> None:
    variables = document(name).sample | {"locale": locale}

    assert errors_of(document(name), variables) == []
    assert f'<html lang="{locale}">' in document(name).html(variables)


@pytest.mark.parametrize("name", NAMES)
def test_a_document_of_nothing_but_what_is_required_becomes_a_page(name: str) -> None:
    kind = document(name)
    optional = [path for path, _, field in walk(kind.model) if not field.is_required()]
    variables = without(copy.deepcopy(kind.sample), optional)

    assert errors_of(kind, variables) == []
    assert kind.html(variables)


def without(value: Any, optional: list[str], path: str = "") -> Any:
    """Return a sample without its optional fields; the paths are those of `walk`."""
    if isinstance(value, list):
        return [without(inner, optional, f"{path}*.") for inner in value]
    if not isinstance(value, dict):
        return value
    return {
        name: without(inner, optional, f"{path}{name}.")
        for name, inner in value.items()
        if f"{path}{name}" not in optional
    }


@pytest.mark.parametrize(
    ("path", "value", "fault"),
    [
        ("number", "", "number: This field is required: a text of at most 110 characters."),
        ("number", " \n", "number: This field is required"),
        ("number", None, "number: This field is required: a text of at most 110 characters."),
        ("number", 5, "number: Expected a text of at most 110 characters."),
        ("number", "x" * 111, "number: At most 110 characters, got 111."),
        ("number", "a\nb", "number: Line breaks, control characters and broken Unicode are not allowed."),
        ("notes", "a\x00b", "notes: Control characters and broken Unicode are not allowed."),
        ("notes", "\ud800", "notes: Control characters and broken Unicode"),
        ("issued_on", "2026-02-30", "issued_on: Expected a date as YYYY-MM-DD."),
        ("issued_on", "20260230", "issued_on: Expected a date"),
        ("issued_on", 20260101, "issued_on: Expected a date"),
        ("issued_on", None, "issued_on: This field is required: a date as YYYY-MM-DD."),
        ("due_on", "", "due_on: Expected a date"),
        ("locale", "de", "locale: Expected one of tr, en."),
        ("locale", ["tr"], "locale: Expected one of tr, en."),
        ("lines", [], "lines: Expected a list of 1 to 1000 objects."),
        ("lines", None, "lines: This field is required: a list of 1 to 1000 objects."),
        ("lines", "x", "lines: Expected a list"),
        ("lines", ["x"], "lines.0: Expected an object."),
        (
            "lines.0.quantity",
            "12,5",
            "lines.0.quantity: Expected a number from 0.0001 to 10000000, at most 4 decimals.",
        ),
        ("lines.0.quantity", True, "lines.0.quantity: Expected a number"),
        ("lines.0.quantity", float("inf"), "lines.0.quantity: Expected a number"),
        ("lines.0.quantity", float("nan"), "lines.0.quantity: Expected a number"),
        pytest.param("lines.0.quantity", 10**5000, "lines.0.quantity: Expected a number", id="a very long integer"),
        ("lines.0.quantity", Decimal("1e999999999"), "lines.0.quantity: Expected a number"),
        ("lines.0.quantity", Decimal("1e-999999999"), "lines.0.quantity: Expected a number"),
        ("lines.0.quantity", Decimal("1.00001"), "lines.0.quantity: Expected a number"),
        ("lines.0.quantity", "1e5", "lines.0.quantity: Expected a number"),
        ("lines.0.quantity", "٣", "lines.0.quantity: Expected a number"),
        ("lines.0.quantity", "0.00001", "lines.0.quantity: Expected a number"),
        ("lines.3.tax_rate", 101, "lines.3.tax_rate: Expected a number from 0 to 100"),
        (
            "lines.0.quantitiy",
            1,
            "lines.0.quantitiy: Unknown field. Known fields: description, detail, quantity, unit, unit_price,",
        ),
        ("lines.0.quantitiy", None, "lines.0.quantitiy: Unknown field."),
        ("seller", "x", "seller: Expected an object."),
        ("seller.logo_url", "http://127.0.0.1/x.png", "seller.logo_url: Expected an address that images may come from"),
        ("payment", {"bank": "x"}, "payment.iban: This field is required"),
    ],
)
def test_variables_that_make_no_sense_are_refused_by_their_path(path: str, value: Any, fault: str) -> None:
    found = errors_of(document("invoice"), changed(document("invoice").sample, path, value))

    assert [line for line in found if line.startswith(fault)], found


def test_faults_are_named_all_at_once_up_to_a_limit() -> None:
    variables = document("invoice").sample | {"lines": [{}] * 1000, "number": 3}

    found = errors_of(document("invoice"), variables)

    assert len(found) == MOST_ERRORS
    assert "number: Expected a text of at most 110 characters." in found


@pytest.mark.parametrize("quantity", [2.5, "2.5", "2.500000", Decimal("2.5"), Decimal("2.50000000"), Decimal("25e-1")])
def test_a_number_is_the_same_however_it_is_written(quantity: Any) -> None:
    kind = document("invoice")

    assert kind.html(changed(kind.sample, "lines.0.quantity", quantity)) == kind.html(
        changed(kind.sample, "lines.0.quantity", 2.5)
    )


def leaves(value: Any, path: str = "") -> Iterator[str]:
    """Yield the path of every value that is not an object or a list."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if inner is None:
        yield path
    else:
        for name, held in inner:
            yield from leaves(held, f"{path}.{name}" if path else str(name))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bad", ["a\x00b", "a\ud800b", [[["deep"]]], {"a": {"b": {}}}, Decimal("1e400")], ids=repr)
def test_what_cannot_be_stored_or_shown_is_refused_wherever_it_is(name: str, bad: Any) -> None:
    kind = document(name)

    for path in leaves(kind.sample):
        assert [line.split(":")[0] for line in errors_of(kind, changed(kind.sample, path, bad))] == [path]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(name=st.sampled_from(NAMES), data=st.data())
def test_no_json_whatever_breaks_a_schema(name: str, data: st.DataObject) -> None:
    kind = document(name)
    path = data.draw(st.sampled_from(sorted(kind.model.model_fields)))
    value = data.draw(JSON)

    found = errors_of(kind, kind.sample | {path: value})

    assert isinstance(found, list)
    if not found:
        assert kind.html(kind.sample | {path: value})


@pytest.mark.parametrize(
    ("template", "line", "message"),
    [
        ("<p>\n{% nosuch %}", 2, "Invalid block tag"),
        ("<p>\n\n{% if name %}", 3, "Unclosed tag"),
        ("<p>\n{{ name|nosuch }}", 2, "Invalid filter"),
        ("<p>\n{{ nmae }}", 2, "there is no variable 'nmae'"),
        ("<p>\n{% include 'pdf/nosuch.html' %}", None, "nosuch.html"),
        ("<p>\n{% widthratio name 0 name %}", 2, "widthratio"),
    ],
)
def test_a_broken_template_is_reported_with_its_line(
    own_templates: Path, template: str, line: int | None, message
) -> None:
    """For the operator."""
    (own_templates / "letter.html").write_text(template)

    with pytest.raises(DocumentError) as fault:
        letter().html({"name": "Ayşe"})

    assert (fault.value.template, fault.value.line) == ("pdf/letter.html", line)
    assert message in fault.value.message


def test_a_missing_template_is_reported(own_templates: Path) -> None:
    with pytest.raises(DocumentError, match=r"pdf/letter\.html"):
        letter().html({"name": "Ayşe"})


def test_bad_variables_never_reach_a_template(own_templates: Path) -> None:
    with pytest.raises(DocumentError, match="name: This field is required: a text of at most 200 characters"):
        letter().html({})


def test_the_digest_follows_templates_includes_styles_and_fonts(own_templates: Path, monkeypatch) -> None:
    (own_templates / "letter.html").write_text("{% include 'pdf/_part.html' %}")
    (own_templates / "_part.html").write_text("<style>{% include 'pdf/_style.css' %}</style>")
    (own_templates / "_style.css").write_text("p { color: red }")
    (own_templates / "unrelated.html").write_text("x")
    seen = [letter().digest]

    (own_templates / "unrelated.html").write_text("y")
    assert letter().digest == seen[0]
    for name in ("letter.html", "_part.html", "_style.css"):
        (own_templates / name).write_text((own_templates / name).read_text() + " ")
        seen.append(letter().digest)
    monkeypatch.setattr("pdfjobs.documents.definition.fonts_digest", lambda: "other fonts")
    seen.append(letter().digest)

    assert len(set(seen)) == 5


def test_each_shipped_document_has_a_digest_of_its_own() -> None:
    digests = {kind.digest for kind in documents.documents()}

    assert len(digests) == 6
    assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in digests)


@pytest.mark.parametrize("path", sorted(TEMPLATES.iterdir()), ids=lambda path: path.name)
def test_no_shipped_template_lets_markup_through(path: Path) -> None:
    """Variables are escaped always."""
    text = path.read_text()

    assert not re.search(r"\|\s*safe|autoescape|safeseq|{%\s*(load|url|now|debug)|<script|https?://", text)
    assert not re.search(r"{{[^}]*}}[^<]*</style>|<style>[^<]*{{", text)

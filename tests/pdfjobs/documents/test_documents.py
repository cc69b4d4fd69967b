"""Documents: the allowlist, the schema, the digest, the template."""

import copy
import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as project
from hypothesis import given
from hypothesis import strategies as st

from pdfjobs import documents
from pdfjobs.documents import DocumentError, UnknownTemplateError, document, schema
from pdfjobs.documents.definition import Document, _engine
from pdfjobs.documents.schema import FieldGroup, Rows, Text
from tests.support.examples import few

NAMES = ["invoice", "offer", "cutting_sheet", "conversion_report"]
TEMPLATES = Path(project.BASE_DIR) / "templates" / "pdf"


@pytest.fixture
def own_templates(settings, tmp_path: Path):
    """Templates of this test, in a folder of its own."""
    settings.BASE_DIR = tmp_path
    (tmp_path / "templates" / "pdf").mkdir(parents=True)
    _engine.cache_clear()
    yield tmp_path / "templates" / "pdf"
    _engine.cache_clear()


def letter(**fields: schema.Field) -> Document:
    return Document("letter", "Letter", FieldGroup(fields=fields or {"name": Text()}), _as_it_is, {"name": "x"})


def _as_it_is(given_values: dict[str, Any]) -> dict[str, Any]:
    return given_values


def changed(sample: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return a copy of a sample with one value replaced; the path is as in error messages."""
    variables = copy.deepcopy(sample)
    *way, last = path.split(".")
    place: Any = variables
    for step in way:
        place = place[int(step)] if step.isdigit() else place[step]
    place[last] = value
    return variables


@few(100)
@given(name=st.text(max_size=20) | st.sampled_from(NAMES), allowed=st.sets(st.sampled_from(NAMES)))
def test_only_names_on_the_list_are_rendered(settings, name: str, allowed: set[str]) -> None:
    """Feature: pdf-render-worker, Property 5: Allowlist Doğrulaması. An empty list refuses all."""
    settings.PDF_TEMPLATES = sorted(allowed)

    if name in allowed:
        assert document(name).name == name
    else:
        with pytest.raises(UnknownTemplateError) as refused:
            document(name)
        assert refused.value.allowed == sorted(allowed)


def test_an_unknown_name_on_the_list_is_left_out(settings) -> None:
    settings.PDF_TEMPLATES = ["../../etc/passwd", "invoice", "_page"]

    assert [kind.name for kind in documents.documents()] == ["invoice"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("locale", ["tr", "en"])
def test_each_sample_is_good_and_becomes_a_page(name: str, locale: str) -> None:
    variables = document(name).sample | {"locale": locale}

    assert document(name).errors(variables) == []
    assert f'<html lang="{locale}">' in document(name).html(variables)


@pytest.mark.parametrize("name", NAMES)
def test_a_document_of_nothing_but_what_is_required_becomes_a_page(name: str) -> None:
    kind = document(name)
    variables = least(kind.schema, kind.sample)

    assert kind.errors(variables) == []
    assert kind.html(variables)


def least(group: FieldGroup, sample: dict[str, Any]) -> dict[str, Any]:
    """Return the required fields of a sample."""
    kept = {}
    for name, field in group.fields.items():
        if field.required:
            value = sample[name]
            if isinstance(field, FieldGroup):
                value = least(field, value)
            if isinstance(field, Rows):
                value = [least(field.group(), value[0])]
            kept[name] = value
    return kept


@pytest.mark.parametrize(
    ("path", "value", "fault"),
    [
        ("number", "", "number: must not be empty."),
        ("number", None, "number: is required: a text of at most 40 characters."),
        ("number", 5, "number: expected a text"),
        ("number", "x" * 41, "number: 41 characters; at most 40 are allowed."),
        ("number", "a\nb", "number: has characters that cannot be shown here: line breaks"),
        ("notes", "a\x00b", "notes: has characters that cannot be shown here: control characters"),
        ("notes", "\ud800", "notes: has characters that cannot be shown here"),
        ("issued_on", "2026-02-30", "issued_on: expected a date as YYYY-MM-DD."),
        ("issued_on", "20260230", "issued_on: expected a date"),
        ("issued_on", 20260101, "issued_on: expected a date"),
        ("locale", "de", "locale: expected one of tr, en."),
        ("locale", ["tr"], "locale: expected one of tr, en."),
        ("lines", [], "lines: expected a list of 1 to 1000 objects."),
        ("lines", "x", "lines: expected a list"),
        ("lines", ["x"], "lines.0: expected an object."),
        (
            "lines.0.quantity",
            "12,5",
            "lines.0.quantity: expected a number from 0.0001 to 10000000, at most 4 decimals.",
        ),
        ("lines.0.quantity", True, "lines.0.quantity: expected a number"),
        ("lines.0.quantity", float("inf"), "lines.0.quantity: expected a number"),
        ("lines.0.quantity", float("nan"), "lines.0.quantity: expected a number"),
        pytest.param("lines.0.quantity", 10**5000, "lines.0.quantity: expected a number", id="a very long integer"),
        ("lines.0.quantity", "1e5", "lines.0.quantity: expected a number"),
        ("lines.0.quantity", "٣", "lines.0.quantity: expected a number"),
        ("lines.0.quantity", "0.00001", "lines.0.quantity: expected a number"),
        ("lines.3.tax_rate", 101, "lines.3.tax_rate: expected a number from 0 to 100"),
        ("lines.0.quantitiy", 1, "lines.0.quantitiy: is not known. Allowed: description,"),
        ("seller", "x", "seller: expected an object."),
        ("seller.logo_url", "http://127.0.0.1/x.png", "seller.logo_url: is not an address that images may come from"),
        ("payment", {"bank": "x"}, "payment.iban: is required"),
    ],
)
def test_variables_that_make_no_sense_are_refused_by_their_path(path: str, value: Any, fault: str) -> None:
    found = document("invoice").errors(changed(document("invoice").sample, path, value))

    assert [line for line in found if line.startswith(fault)], found


def test_faults_are_named_all_at_once_up_to_a_limit() -> None:
    variables = document("invoice").sample | {"lines": [{}] * 1000, "number": 3}

    found = document("invoice").errors(variables)

    assert len(found) == schema.MOST_ERRORS
    assert "number: expected a text of at most 40 characters." in found


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(name=st.sampled_from(NAMES), data=st.data())
def test_no_json_whatever_breaks_a_schema(name: str, data: st.DataObject) -> None:
    kind = document(name)
    path = data.draw(st.sampled_from(sorted(kind.schema.fields)))
    value = data.draw(JSON)

    found = kind.errors(kind.sample | {path: value})

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
    with pytest.raises(DocumentError, match="name: is required"):
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

    assert len(digests) == 4
    assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in digests)


@pytest.mark.parametrize("path", sorted(TEMPLATES.iterdir()), ids=lambda path: path.name)
def test_no_shipped_template_lets_markup_through(path: Path) -> None:
    """Variables are escaped always."""
    text = path.read_text()

    assert not re.search(r"\|\s*safe|autoescape|safeseq|{%\s*(load|url|now|debug)|<script|https?://", text)
    assert not re.search(r"{{[^}]*}}[^<]*</style>|<style>[^<]*{{", text)

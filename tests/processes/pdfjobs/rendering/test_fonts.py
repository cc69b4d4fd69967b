"""Fonts: bundled, embedded, and complete for Turkish."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pypdfium2
import pytest
from pypdf import PdfReader

from pdfjobs import rendering
from pdfjobs.rendering import fonts

TURKISH = "ğüşıİöçĞÜŞÖÇâîû₺"


def embedded(reader: PdfReader) -> set[str]:
    """Return the names of embedded fonts."""
    found = set()
    for page in reader.pages:
        for font in page["/Resources"].get("/Font", {}).values():
            inner: Any = font.get_object()["/DescendantFonts"][0].get_object()
            if "/FontFile2" in inner["/FontDescriptor"]:
                found.add(inner["/BaseFont"].split("+")[1])
    return found


def ink(pdf: bytes) -> list[bytes]:
    """Return an image of each letter; every page has one letter."""
    document = pypdfium2.PdfDocument(pdf)
    return [bytes(document[number].render(scale=0.5).buffer) for number in range(len(document))]


def letters(text: str) -> str:
    return "".join(f'<p style="font: 300px Inter; break-after: page">{letter}</p>' for letter in text)


@pytest.fixture
def new_fonts() -> Iterator[None]:
    """Use other fonts for the next browser and the digest, and restore ours after the test."""
    rendering.close()
    fonts.fonts_digest.cache_clear()
    yield
    rendering.close()
    fonts.fonts_digest.cache_clear()


def test_the_font_is_ours_and_embedded(to_reader: Callable[..., PdfReader]) -> None:
    page = f'<p style="font-family: Inter">{TURKISH}<b>{TURKISH}</b></p>'

    assert embedded(to_reader(page)) == {"Inter-Regular", "Inter-SemiBold"}


@pytest.mark.parametrize("family", ["Arial", "Helvetica", "Times New Roman", "monospace", "sans-serif", "nosuch"])
def test_whatever_a_page_asks_for_no_font_of_the_machine_gets_in(to_reader: Callable[..., PdfReader], family) -> None:
    found = embedded(to_reader(f'<p style="font-family: {family}">abc {TURKISH} ☎</p>', footer=None))

    assert found <= {"Inter-Regular", "DejaVuSans"}


def test_turkish_letters_are_letters_not_boxes(to_pdf: Callable[..., bytes]) -> None:
    """Text can be read out of a PDF even where a box is drawn, so the pictures are compared."""
    box, *drawn = ink(to_pdf(letters("\U000f0001" + TURKISH), footer=None))[: len(TURKISH) + 1]

    assert box not in drawn
    assert len(set(drawn)) == len(TURKISH)


def test_what_our_first_font_lacks_the_second_has(to_reader: Callable[..., PdfReader]) -> None:
    assert "DejaVuSans" in embedded(to_reader("<p>☎ שלום</p>"))


def test_a_folder_of_further_fonts_is_used_and_changes_the_digest(
    to_reader: Callable[..., PdfReader], settings, tmp_path: Path, new_fonts: None
) -> None:
    """How CJK fonts are added; a renamed font stands in for one here."""
    page, before = '<p style="font-family: Inter">abc</p>', fonts.fonts_digest()
    fonts.fonts_digest.cache_clear()
    shutil.copy(other_font(), tmp_path / "other.ttf")
    settings.PDF_FONTS = [str(tmp_path)]

    found = embedded(to_reader(page.replace("Inter", "DejaVu Sans Mono")))

    assert "DejaVuSansMono" in found
    assert fonts.fonts_digest() != before


def other_font() -> Path:
    found = next(Path("/usr/share/fonts").rglob("DejaVuSansMono.ttf"), None)
    if found is None:
        pytest.skip("needs DejaVuSansMono.ttf below /usr/share/fonts (Debian: fonts-dejavu-core)")
    return found


def test_the_configuration_is_written_once_and_whole(settings, tmp_path: Path) -> None:
    settings.KILIT_VAR = tmp_path

    first, second = fonts.configuration(), fonts.configuration()

    assert first == second
    assert [path.name for path in (tmp_path / "fonts").iterdir()] == [first.name]
    assert str(fonts.BUNDLED) in first.read_text()


def test_each_bundled_font_comes_with_its_licence() -> None:
    families = {path.name.split("-")[0].removesuffix("Sans.ttf") for path in fonts.font_files()}

    assert all((fonts.BUNDLED / f"{family}-LICENSE.txt").is_file() for family in families)

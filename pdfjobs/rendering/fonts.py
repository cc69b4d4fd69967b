"""The fonts a page may use: the bundled ones, and those in the operator's folders (KILIT_PDF_FONTS).

Fonts of the machine are not used, so that all machines give the same bytes.
"""

import hashlib
from functools import cache
from pathlib import Path
from xml.sax.saxutils import escape

from django.conf import settings

from kilit.files import write_atomically

BUNDLED = Path(__file__).parent / "typefaces"
KINDS = (".ttf", ".otf", ".ttc")
CONFIGURATION = """\
<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
{folders}
  <cachedir>{cache}</cachedir>
  <match target="pattern">
    <edit name="family" mode="append_last"><string>Inter</string><string>DejaVu Sans</string></edit>
  </match>
  <match target="font">
    <edit name="hinting" mode="assign"><bool>false</bool></edit>
    <edit name="antialias" mode="assign"><bool>true</bool></edit>
    <edit name="embeddedbitmap" mode="assign"><bool>false</bool></edit>
  </match>
</fontconfig>
"""


def folders() -> list[Path]:
    return [BUNDLED, *(Path(folder) for folder in settings.PDF_FONTS)]


def font_files() -> list[Path]:
    """Return every font file, in the same order on every machine."""
    return [path for folder in folders() for path in fonts_in(folder)]


def fonts_in(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.suffix.lower() in KINDS and path.is_file()]


@cache
def fonts_digest() -> str:
    """Hash the fonts once per process: the browser does not notice new fonts either."""
    digests = [hashlib.sha256(path.read_bytes()).digest() for path in font_files()]
    return hashlib.sha256(b"".join(digests)).hexdigest()


def configuration() -> Path:
    """Return a fonts.conf for the browser. It is replaced atomically, because workers start at the same time."""
    folder = Path(settings.KILIT_VAR) / "fonts"
    folder.mkdir(parents=True, exist_ok=True)
    listed = "\n".join(f"  <dir>{escape(str(path))}</dir>" for path in folders())
    text = CONFIGURATION.format(folders=listed, cache=escape(str(folder / "cache")))
    path = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.conf"
    if not path.is_file() or path.read_text() != text:
        write_atomically(path, text.encode())
    return path

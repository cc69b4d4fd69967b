"""Names in the order of the reader's alphabet, and e-mail addresses compared alike in every locale.

In Turkish, Ç comes after C and I (ı) before İ; in English beside C and I.

PostgreSQL does this with the collations of ICU. The embedded one is built without ICU, as are some others; then letters
are replaced by what sorts in the same order byte by byte.
"""

from typing import Any

from django.db.models import F, Func, Q, TextField, Value
from django.db.models.functions import Collate, Lower
from django.db.models.lookups import Exact
from django.db.models.sql.compiler import SQLCompiler
from django.utils.translation import get_language

from kilit.lock.folding import Fold

UPPER, LOWER = "ABCDEFGHJKLMNOPQRSTUVWXYZ", "abcdefghjklmnopqrstuvwxyz"  # without I, whose lower case is not always i
FOREIGN, PLAIN = "ÀÁÂÃÄÅàáâãäåÈÉÊËèéêëÌÍÎÏìíîïÑñÒÓÔÕòóôõÙÚÛùúûÝý", "aaaaaaaaaaaaeeeeeeeeiiiiiiiinnoooooooouuuuuuyy"
TURKISH = "ÇçĞğIıİiÖöŞşÜü"
# A letter of its own comes after every word that begins with the letter before it.
AFTER = {"ç": "c", "ğ": "g", "ı": "h", "ö": "o", "ş": "s", "ü": "u"}

_with_icu: dict[tuple[str, str], bool] = {}


class NameOrder(Func):
    output_field = TextField()

    def __init__(self, column: object, **options: Any) -> None:
        super().__init__(F(column) if isinstance(column, str) else column, **options)

    def as_sql(self, compiler: SQLCompiler, connection: object, **_options: object) -> tuple[str, tuple[Any, ...]]:  # type: ignore[override]
        column, params = compiler.compile(self.get_source_expressions()[0])
        is_turkish = (get_language() or "en").startswith("tr")
        if has_icu(connection):
            return f'({column}) COLLATE "{"tr" if is_turkish else "en"}-x-icu"', (*params,)
        key = turkish_key(column) if is_turkish else Fold.template % {"expressions": column}
        return f'({key}) COLLATE "C"', (*params,)


def fold(text: str) -> str:
    """Return the text with A to Z as small letters, and every other character as it is."""
    return "".join(character.lower() if character.isascii() else character for character in text)


def is_same_text(column: str, text: str) -> Q:
    """Compare as `fold` does, whatever the locale of the database: in a Turkish one, upper('i') is İ."""
    return Q(Exact(Lower(Collate(column, "C")), Value(fold(text))))


def turkish_key(column: str) -> str:
    key = f"translate({column}, '{UPPER}{FOREIGN}{TURKISH}', '{LOWER}{PLAIN}ççğğııiiööşşüü')"
    for letter, before in AFTER.items():
        key = f"replace({key}, '{letter}', '{before}~')"
    return key


def has_icu(connection: Any) -> bool:
    """Return whether the database has both collations; asked once for each database."""
    database = (connection.alias, str(connection.settings_dict["NAME"]))
    if database not in _with_icu:
        connection.ensure_connection()
        with connection.wrap_database_errors:
            row = connection.connection.execute(
                "SELECT count(*) FROM pg_collation WHERE collprovider = 'i' AND collname IN ('tr-x-icu', 'en-x-icu')"
            ).fetchone()
        _with_icu[database] = row[0] == 2
    return _with_icu[database]

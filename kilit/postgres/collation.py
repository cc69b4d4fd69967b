"""Names in the order of the reader's alphabet: Ç after C, I (ı) before İ in Turkish; beside C and I in English.

PostgreSQL does this with the collations of ICU. The embedded one is built without ICU, as are some others; then letters
are replaced by what sorts in the same order byte by byte.
"""

from typing import Any

from django.db.models import F, Func, TextField
from django.utils.translation import get_language

UPPER, LOWER = "ABCDEFGHJKLMNOPQRSTUVWXYZ", "abcdefghjklmnopqrstuvwxyz"  # without I, whose lower case is not always i
FOREIGN, PLAIN = "ÀÁÂÃÄÅàáâãäåÈÉÊËèéêëÌÍÎÏìíîïÑñÒÓÔÕòóôõÙÚÛùúûÝý", "aaaaaaaaaaaaeeeeeeeeiiiiiiiinnoooooooouuuuuuyy"
TURKISH = "ÇçĞğIıİiÖöŞşÜü"
# A letter of its own comes after every word that begins with the letter before it.
AFTER = {"ç": "c", "ğ": "g", "ı": "h", "ö": "o", "ş": "s", "ü": "u"}

_with_icu: dict[tuple[str, str], bool] = {}


class NameOrder(Func):
    """Sorts a column of names, by the language that is active when the query is run."""

    output_field = TextField()

    def __init__(self, column: Any, **options: Any) -> None:
        super().__init__(F(column) if isinstance(column, str) else column, **options)

    def as_sql(self, compiler: Any, connection: Any, **_options: Any) -> tuple[str, tuple[Any, ...]]:  # type: ignore[override]
        column, params = compiler.compile(self.get_source_expressions()[0])
        is_turkish = (get_language() or "en").startswith("tr")
        if has_icu(connection):
            return f'({column}) COLLATE "{"tr" if is_turkish else "en"}-x-icu"', (*params,)
        return f'({turkish_key(column) if is_turkish else english_key(column)}) COLLATE "C"', (*params,)


def english_key(column: str) -> str:
    return f"translate({column}, '{UPPER}{FOREIGN}{TURKISH}', '{LOWER}{PLAIN}ccggiiiioossuu')"


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
            found = connection.connection.execute(
                "SELECT count(*) FROM pg_collation WHERE collprovider = 'i' AND collname IN ('tr-x-icu', 'en-x-icu')"
            ).fetchone()
        _with_icu[database] = found[0] == 2  # noqa: PLR2004 - both
    return _with_icu[database]

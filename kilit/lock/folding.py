"""One folding of letters for every search: case and accents do not matter, and ı, I, İ and i are one letter.

PostgreSQL folds both sides, with functions that an index may use; `unaccent` is none of them, and not always there.
`lower` depends on the database: in the locale C it leaves Ç as it is, in Turkish it makes ı of I. The table evens that.
"""

from django.db.models import CharField, Func, TextField
from django.db.models.lookups import Lookup
from django.db.models.sql.compiler import SQLCompiler

# Indexes hold what this makes of a text: a change needs a migration that builds them again.
ACCENTS = {
    "a": "àáâãäåāăą",
    "c": "çćč",
    "d": "ďđ",
    "e": "èéêëēėęě",
    "g": "ğģ",
    "i": "ìíîïīį",
    "l": "ł",
    "n": "ñńņň",
    "o": "òóôõöøōő",
    "r": "ŕř",
    "s": "şșśš",
    "t": "ţțť",
    "u": "ùúûüūůűų",
    "y": "ýÿ",
    "z": "źżž",
}
PLAIN = {letter: plain for plain, letters in ACCENTS.items() for letter in letters + letters.upper()}
PLAIN |= {"ı": "i", "İ": "i"}
MARKS = "\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0327\u0328"  # after a letter, as of macOS
# Else PostgreSQL takes them for a part of an address, a path, a number or a tag.
BETWEEN_WORDS = ".-_/\\@+<>&:''"  # the last one as SQL has it
TABLE = str.maketrans("".join(PLAIN), "".join(PLAIN.values()), MARKS)


class Fold(Func):
    """A text in small letters without accents."""

    output_field = TextField()
    template = f"translate(lower(%(expressions)s), '{''.join(PLAIN)}{MARKS}', '{''.join(PLAIN.values())}')"


class FoldedColumn(Func):
    """The same of a column, for an index. Most texts are ASCII, and for them the table would be slow."""

    output_field = TextField()
    template = (
        "CASE WHEN octet_length(%(expressions)s) = length(%(expressions)s) "
        f'THEN lower(%(expressions)s COLLATE "C") ELSE {Fold.template} END'
    )


def fold_text(text: str) -> str:
    """Return what `Fold` makes of a text that is not in the database, such as the title of a page."""
    return text.lower().translate(TABLE)


class FoldedWords(Func):
    """The words of a column, for a GIN index that serves the lookup `words`."""

    output_field = TextField()
    between = f"'{BETWEEN_WORDS}', '{' ' * len(BETWEEN_WORDS)}'"
    template = f"to_tsvector('simple'::regconfig, translate({FoldedColumn.template}, {between}))"


class WordsLookup(Lookup[str]):
    """Whether words of a text begin with the text that is looked for; several of them must follow each other."""

    lookup_name = "words"

    def as_sql(self, compiler: SQLCompiler, connection: object) -> tuple[str, tuple[object, ...]]:  # type: ignore[override]
        column, params = compiler.compile(FoldedWords(self.lhs))
        text = f"translate({Fold.template % {'expressions': '%s'}}, {FoldedWords.between})"
        return f"{column} @@ to_tsquery('simple'::regconfig, ''' ' || {text} || ''':*')", (*params, self.rhs)


def register_words() -> None:
    for field in (CharField, TextField):
        field.register_lookup(WordsLookup)

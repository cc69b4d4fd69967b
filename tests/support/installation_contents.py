"""Compares installations row by row and rule by rule, and finds what contradicts itself in one."""

import re
from collections import Counter
from typing import Any

from tests.support.installation import Installation

TABLES = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' ORDER BY 1"
# What decides how a database behaves, in words: the same words are the same behaviour.
BEHAVIOUR = {
    "triggers": "SELECT tgrelid::regclass::text, tgname, tgenabled, pg_get_triggerdef(oid), obj_description(oid)"
    " FROM pg_trigger WHERE NOT tgisinternal",
    "functions": "SELECT proname, pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace",
    # Without NOT NULL, which `columns` shows, and which is a constraint with a name from PostgreSQL 18 on.
    "constraints": "SELECT conrelid::regclass::text, conname, convalidated, pg_get_constraintdef(oid)"
    " FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype <> 'n'",
    "indexes": "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'",
    "columns": "SELECT table_name, column_name, data_type, is_nullable, column_default FROM information_schema.columns"
    " WHERE table_schema = 'public'",
    "options": "SELECT relname, reloptions FROM pg_class WHERE relnamespace = 'public'::regnamespace",
}
WHOLE: dict[str, list[Any]] = {"events": [], "counts": [], "files": []}


def contents(kilit: Installation) -> dict[str, Counter[str]]:
    """Return every row of every table, and every rule, in words."""
    found = {name: Counter(same_words(str(row)) for row in kilit.ask(ask)) for name, ask in BEHAVIOUR.items()}
    with kilit.connect() as connection:
        for (table,) in connection.execute(TABLES).fetchall():
            rows = connection.execute(f'SELECT to_jsonb(each)::text FROM "{table}" each').fetchall()
            found[table] = Counter(text for (text,) in rows)
    return found


def same_words(rule: str) -> str:
    """Leave out what PostgreSQL writes one way when a rule is made, and another way when it is made again."""
    return re.sub(r"::(character varying|text)|\[\]|[()]", "", rule)


def sequences(kilit: Installation) -> dict[str, int]:
    return {name: last or 0 for name, last in kilit.ask("SELECT sequencename, last_value FROM pg_sequences")}


def files(kilit: Installation) -> dict[str, bytes]:
    root = kilit.folder / "artifacts"
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def torn(kilit: Installation) -> dict[str, list[Any]]:
    """Return what contradicts itself: rows against events, counts against rows, rows against files."""
    have = files(kilit)
    last = """
        SELECT job.id, job.status, last.to_state FROM pdfjobs_pdfjob job JOIN LATERAL (SELECT to_state
        FROM lock_event WHERE queue = 'pdf' AND object_id = job.id ORDER BY id DESC LIMIT 1) last ON true
        WHERE job.status <> last.to_state
    """
    counted = """
        SELECT state, sum(now) FROM (SELECT state, total AS now FROM lock_count WHERE queue = 'pdf' UNION ALL
        SELECT state, change FROM lock_countdelta WHERE queue = 'pdf') each GROUP BY 1 HAVING sum(now) <> 0
    """
    rows = "SELECT status, count(*) FROM pdfjobs_pdfjob GROUP BY 1"
    made = kilit.ask("SELECT artifact_key, artifact_size FROM pdfjobs_pdfjob WHERE status = 'succeeded'")
    return {
        "events": kilit.ask(last),
        "counts": sorted(set(kilit.ask(counted)) ^ set(kilit.ask(rows))),
        "files": [key for key, size in made if len(have.get(key, b"")) != size],
    }

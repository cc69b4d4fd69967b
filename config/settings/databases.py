"""DATABASES of the server and of the runner on the OptiPlanning PC, with limits for a host that disappears."""

from typing import Any

from config.settings.environment import Environment

# A host that is switched off, or behind a network that is cut, sends nothing: without these, TCP would wait for it for
# a quarter of an hour with a statement under way, and for two hours without one.
TCP = {"keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 2, "tcp_user_timeout": 10_000}


def databases(env: Environment, *, default: dict[str, Any]) -> dict[str, Any]:
    """Return the database of DATABASE_URL, or the default one; options in the URL take precedence over ours."""
    chosen = bool(env.text("DATABASE_URL", ""))
    database = env.database("DATABASE_URL") if chosen else default
    # psycopg gives each host of the URL, and each of a name's addresses, this time; two seconds is its least. The
    # embedded server is on this machine and has no other host to turn to: if it is slow, the machine is busy.
    patience = 2 if chosen else 10
    connect_timeout = env.number("KILIT_DATABASE_CONNECT_TIMEOUT", default=patience, least=2, most=60)
    # Of several hosts, the one that can be written: after a failover that is another one.
    several = {"target_session_attrs": "read-write"} if "," in str(database.get("HOST", "")) else {}
    options = {**TCP, **several, "connect_timeout": connect_timeout, **database.get("OPTIONS", {})}
    # A new connection for each doorbell would cost more than its insert. Sooner or later each is replaced, because a
    # server process keeps what it has learned of each table.
    return {"default": {**database, "OPTIONS": options, "CONN_MAX_AGE": 600, "CONN_HEALTH_CHECKS": True}}

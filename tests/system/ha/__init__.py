"""High availability: `make ha` runs Kilit on a PostgreSQL cluster that fails over, and checks every guarantee.

Patroni and etcd manage a primary and a synchronous standby; HAProxy finds the primary, PgBouncer pools. The processes,
clients and checks are the chaos run's (tests/system/chaos). docs/high-availability.md has the same setup on
three machines.
"""

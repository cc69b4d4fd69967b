"""What web processes count, and what /metrics reads of it.

1. `counter`: wraps the WSGI application and counts in memory; the web server counts what it refuses itself.
2. `reporter`: a thread of each process adds its numbers to the database every few seconds.
3. `metrics`: the sums over all processes, for Prometheus; it keeps the text for those who ask too often.

A process adds to rows of its own, so none waits for another. Rows that nobody has added to for an hour are folded into
sums, which only one process at a time touches. Totals therefore never go down, whichever process ends.
"""

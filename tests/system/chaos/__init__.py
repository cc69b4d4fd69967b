"""Chaos: real processes of all three queues under random strikes, and then what must hold whatever happened.

`make chaos`, or `python -m tests.system.chaos --seed 7`. docs/reliability.md tells how it is made.
"""

"""Several machines, played on one: services in network namespaces of their own, cut off, and with clocks that are off.

`make machines`, or `python -m tests.system.machines`. docs/reliability.md describes it. Load and checks are the chaos
run's.
"""

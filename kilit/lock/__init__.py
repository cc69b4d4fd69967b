"""The lock: tables of moves, the guard, database triggers, events and exact counts."""

"""How long a process waits for the database, and what it does meanwhile; the backend (`kilit.postgres`) obeys it."""

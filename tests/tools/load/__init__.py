"""A load test as a backend and a script would do it, against a Kilit that runs."""

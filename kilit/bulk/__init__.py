"""An operator's verb over everything that matches a filter: planned, confirmed, done in batches, told row by row."""

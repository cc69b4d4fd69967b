"""Every two who may meet on one row, in orders that Hypothesis chooses (tests.support.interleaving)."""

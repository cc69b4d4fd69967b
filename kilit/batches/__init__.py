"""Bulk actions: an operation over everything that matches a filter, planned, confirmed and run in batches."""

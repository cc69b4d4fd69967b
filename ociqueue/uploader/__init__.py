"""Uploads to ad platforms: a small provider interface, Google Ads behind it, and the run that feeds it."""

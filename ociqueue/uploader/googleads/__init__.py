"""Uploads through the Google Ads API, which answers for each row at once."""

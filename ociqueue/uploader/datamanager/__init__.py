"""Uploads through the Data Manager API, which takes requests and gives its verdict on their rows later."""

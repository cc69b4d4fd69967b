"""Each threat of docs/security.md, tried."""

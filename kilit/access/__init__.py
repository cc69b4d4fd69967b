"""Access: roles, API keys, rate limits, lockout and denied requests."""

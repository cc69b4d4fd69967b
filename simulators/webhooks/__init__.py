"""A receiver of webhooks that verifies signatures and can be switched to fail."""

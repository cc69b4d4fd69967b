"""Messages on their way out: signed webhooks to machines, and alerts to people."""

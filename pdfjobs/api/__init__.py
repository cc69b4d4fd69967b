"""The PDF queue over REST."""

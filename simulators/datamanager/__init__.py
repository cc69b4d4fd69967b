"""A Data Manager server on loopback: plain HTTP in the shapes of Google's discovery document, with scripted answers."""

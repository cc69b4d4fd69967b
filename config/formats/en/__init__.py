"""English, read by people of many countries."""

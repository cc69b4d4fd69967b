"""The console as people meet it: in a real browser, against a live server on loopback."""

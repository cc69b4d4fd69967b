"""Tests that start processes: servers, workers, runners, browsers, commands. All are marked `processes`."""

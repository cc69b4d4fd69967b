"""The tenancy walk: every page and every operation, as everyone, with rows of their own site and of another.

`world` makes two sites with a row of every kind, and what belongs to the installation. `doors` finds the pages and
operations, and fills in ids. `walk` opens them and looks for the other site's marks. `table` writes what came of it.
"""

"""Compares our counts with Google's own.

`reading` gets Google's, `ours` adds up ours for the sites of an account (`accounts`), `compare` finds differences, and
`run` does all of it for the sites that are due. `self_check` looks whether our own counts add up.
"""

"""Compares our counts with Google's own.

`reading` gets Google's, `run` adds up ours for all sites of an account, `compare` finds differences, and `run` stores
them for the sites that are due. `self_check` looks whether our own counts add up.
"""

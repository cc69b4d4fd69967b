"""The documents themselves: a file each."""

"""Benchmarks: ours and a named peer or limit, in one run, interleaved; `make bench` runs them."""

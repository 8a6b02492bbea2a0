"""Ours beside the peers, in one run: `make bench` prints one table; the product imports nothing of it."""

"""Synthetic inputs for demonstrations, benchmarks and tests: nothing in them is real."""

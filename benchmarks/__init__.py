"""Benchmarks: the speed and size claims, each a command that prints a ratio."""
